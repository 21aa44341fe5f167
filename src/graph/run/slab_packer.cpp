// SPDX-License-Identifier: Apache-2.0
// Packs transients into the slab, while compiling and, if sizes are bound at run time, in each session.
#include "graph/run/slab_packer.h"

#include <numeric>

#include "millrace/base/saturating.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxPairs = std::size_t{1} << 20;

std::int64_t length_of(const PackedTransient& transient) {
  return std::int64_t{transient.life.last} - transient.life.first + 1;
}

/// The first sort key: the largest comes first.
std::int64_t weight_of(PackOrder order, const PackedTransient& transient) {
  switch (order) {
    case PackOrder::kLargest:
      break;
    case PackOrder::kLargestArea:
      return saturating::multiply(transient.bytes, length_of(transient));
    case PackOrder::kLongest:
      return length_of(transient);
    case PackOrder::kEarliest:
      return -std::int64_t{transient.life.first};
  }
  return transient.bytes;
}

/// `changes` is scratch memory: the change of the live bytes at each timepoint, and at the end.
std::int64_t max_live(std::span<const PackedTransient> transients, std::span<std::int64_t> changes) {
  std::ranges::fill(changes, 0);
  for (const auto& [bytes, life, number] : transients) {
    changes[life.first] = saturating::add(changes[life.first], bytes);
    changes[life.last + 1] = saturating::subtract(changes[life.last + 1], bytes);
  }
  std::int64_t live = 0, peak = 0;
  for (const std::int64_t change : changes) {
    live = saturating::add(live, change);
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace

std::int64_t max_live_bytes(std::span<const PackedTransient> transients) {
  std::uint32_t num_timepoints = 0;
  for (const PackedTransient& each : transients) num_timepoints = std::max(num_timepoints, each.life.last + 1);
  std::vector<std::int64_t> changes(num_timepoints + std::size_t{1});
  return max_live(transients, changes);
}

bool is_packed_before(PackOrder order, const PackedTransient& a, const PackedTransient& b) {
  const std::int64_t a_weight = weight_of(order, a), b_weight = weight_of(order, b);
  if (a_weight != b_weight) return a_weight > b_weight;
  return a.bytes != b.bytes ? a.bytes > b.bytes : a.number < b.number;
}

std::optional<SlabPacker> SlabPacker::create(std::span<const Lifespan> lives) {
  SlabPacker packer;
  const std::size_t count = lives.size();
  std::uint32_t num_timepoints = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    packer.transients_.push_back({0, lives[i], i});
    num_timepoints = std::max(num_timepoints, lives[i].last + 1);
  }
  // Two transients are neighbours if one begins while the other lives. A sweep in the order of their beginnings finds
  // each pair once.
  std::ranges::sort(packer.transients_, {}, [](const PackedTransient& t) { return t.life.first; });
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::vector<std::uint32_t> living;
  for (const PackedTransient& next : packer.transients_) {
    std::erase_if(living, [&](std::uint32_t other) { return lives[other].last < next.life.first; });
    if (pairs.size() + living.size() > kMaxPairs) return {};
    for (const std::uint32_t other : living) pairs.emplace_back(next.number, other);
    living.push_back(next.number);
  }
  std::vector<std::size_t> ends(count + 1);
  for (const auto& [a, b] : pairs) ++ends[a + 1], ++ends[b + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  packer.first_neighbour_ = ends;
  packer.neighbours_.resize(2 * pairs.size());
  for (const auto& [a, b] : pairs) {
    packer.neighbours_[ends[a]++] = b;
    packer.neighbours_[ends[b]++] = a;
  }
  packer.bytes_.resize(count);
  packer.offsets_.resize(count);
  packer.trial_.resize(count);
  packer.is_placed_.resize(count);
  packer.taken_.reserve(count);
  packer.changes_.resize(std::size_t{num_timepoints} + 1);
  return packer;
}

std::int64_t SlabPacker::pack(std::span<const std::int64_t> bytes, std::int64_t enough_bytes) {
  std::ranges::copy(bytes, bytes_.begin());
  for (PackedTransient& transient : transients_) transient.bytes = bytes[transient.number];
  return find_best_packing(
      transients_, std::max(max_live(transients_, changes_), enough_bytes), [&] { return place_all(); },
      [&](const PackedTransient& each) { return saturating::add(trial_[each.number], each.bytes); },
      [&] { std::ranges::copy(trial_, offsets_.begin()); });
}

std::int64_t SlabPacker::place_all() {
  std::fill(is_placed_.begin(), is_placed_.end(), false);
  std::int64_t end = 0;
  for (const PackedTransient& transient : transients_) {
    const std::int64_t place = lowest_place(transient);
    trial_[transient.number] = place;
    is_placed_[transient.number] = true;
    end = std::max(end, saturating::add(place, transient.bytes));
  }
  return end;
}

std::int64_t SlabPacker::lowest_place(const PackedTransient& transient) {
  if (transient.bytes == 0) return 0;
  taken_.clear();
  for (std::size_t i = first_neighbour_[transient.number]; i < first_neighbour_[transient.number + 1]; ++i) {
    const std::uint32_t other = neighbours_[i];
    if (!is_placed_[other] || bytes_[other] == 0) continue;
    taken_.push_back({trial_[other], saturating::add(trial_[other], bytes_[other])});
  }
  std::ranges::sort(taken_, {}, &Interval::begin);
  std::int64_t place = 0;
  for (const auto& [begin, end] : taken_) {
    if (begin - place >= transient.bytes) break;
    place = std::max(place, end);
  }
  return place;
}

}  // namespace millrace
