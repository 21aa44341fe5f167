// SPDX-License-Identifier: Apache-2.0
#include "hal/host/routines/row_selector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace millrace {
namespace {

/// With so many groups per result, about an eighth more elements than k have keys up to the k-th group's: k * k / 2 per
/// group. Sorting twice as many groups takes longer than that saves.
constexpr std::int64_t kGroupsPerResult = 4;
constexpr std::int64_t kFewestGroups = 128;

/// Vectors of a sample. Shorter rows beside k have no limit at first: most of their groups have one of the first k.
constexpr std::int64_t kSampledVectors = 1024;
constexpr std::int64_t kFewestSampledTimesK = 64;
/// If fewer than k elements reach the limit, the next one is likely to have so many times as many.
constexpr std::int64_t kNextLimit = 4;

/// The place of sampled vector i among `count`, by a random number that depends on i alone: what repeats in the row has
/// no influence.
std::int64_t place_between(std::int64_t i, std::int64_t count) {
  const std::uint32_t random = (static_cast<std::uint32_t>(i) + 1) * 0x9e3779b1U;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(random) * static_cast<std::uint64_t>(count) >> 32);
}

}  // namespace

template <class Key>
std::int64_t RowSelector<Key>::select(const RowReader& row, std::int64_t n, std::int64_t k) {
  start(k);
  return k > kMostByGroups ? select_by_sample(row, n) : select_by_groups(row, n);
}

template <class Key>
void RowSelector<Key>::start(std::int64_t k) {
  k_ = k;
  num_found_ = num_in_limit_ = 0;
  limit_ = std::numeric_limits<Key>::max();
  run_ = {limit_, limit_};
  has_limit_ = excludes_run_ = is_complete_ = false;
}

template <class Key>
std::int64_t RowSelector<Key>::select_by_groups(const RowReader& row, std::int64_t n) {
  for (std::int64_t start = 0; start < n && !is_complete_; start += kBlock) {
    const std::int64_t count = std::min(kBlock, n - start);
    const std::int64_t num_chunks = count / code_.chunk();
    const std::int64_t num_groups = num_chunks * code_.num_lanes;
    find_minima(row, start, num_chunks * code_.chunk());
    if (!has_limit_) tighten(num_groups);
    find_in_block(row, start, num_groups);
    if (!is_complete_) {
      find_elements(row, start + num_chunks * code_.chunk(), count - num_chunks * code_.chunk(), code_.filter_row);
    }
  }
  return num_found_;
}

template <class Key>
std::int64_t RowSelector<Key>::select_by_sample(const RowReader& row, std::int64_t n) {
  std::int64_t num_groups = 0, wanted = 0;
  if (n >= kFewestSampledTimesK * k_) {
    num_groups = sample(row, n);
    // So many groups are likely to have one of the first k, and three times their standard deviation more.
    const std::int64_t expected = k_ * num_groups * RowSelectorCode::kVectorsPerChunk / n;
    wanted = expected + static_cast<std::int64_t>(3 * std::sqrt(static_cast<double>(expected))) + 3;
    sorter_.sort(memory_.minima, memory_.other, num_groups, num_groups);
  }
  while (true) {
    if (wanted < num_groups) set_limit(memory_.minima[wanted]);
    for (std::int64_t first = 0; first < n && !is_complete_; first += kPiece) {
      find_elements(row, first, std::min(kPiece, n - first), code_.filter_whole_row);
    }
    if (num_found_ >= k_) return num_found_;
    start(k_);
    wanted *= kNextLimit;
  }
}

template <class Key>
std::int64_t RowSelector<Key>::sample(const RowReader& row, std::int64_t n) {
  constexpr std::int64_t kNumGroups = kSampledVectors / RowSelectorCode::kVectorsPerChunk;  // per lane
  const std::int64_t bytes = code_.num_lanes * row.element_bytes(), stride = n / kSampledVectors;
  auto* const vectors = reinterpret_cast<std::byte*>(memory_.passing);
  for (std::int64_t group = 0; group < kNumGroups; ++group) {
    // Joins elements from far apart: where the row ascends, its first ones are in neighbours.
    for (std::int64_t i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      const std::int64_t vector = i * kNumGroups + group;
      const std::int64_t place = vector * stride + place_between(vector, stride - code_.num_lanes);
      std::memcpy(vectors + i * bytes, row.read(place, code_.num_lanes), static_cast<std::size_t>(bytes));
    }
    code_.find_minima(vectors, memory_.minima + group * code_.num_lanes, code_.chunk());
  }
  elements_read_ += kSampledVectors * code_.num_lanes;
  return kNumGroups * code_.num_lanes;
}

template <class Key>
void RowSelector<Key>::find_minima(const RowReader& row, std::int64_t start, std::int64_t count) {
  elements_read_ += count;
  if (row.loader() != nullptr && code_.find_computed_minima != nullptr) {
    return row.loader()->compute_by(code_.find_computed_minima, start, count, memory_.minima);
  }
  const std::int64_t most = row.most_at_once();
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t num_now = std::min(most, count - done);
    Key* const to = memory_.minima + done / RowSelectorCode::kVectorsPerChunk;
    code_.find_minima(row.read(start + done, num_now), to, num_now);
    if (num_now == count) return;
  }
}

template <class Key>
void RowSelector<Key>::find_in_block(const RowReader& row, std::int64_t start, std::int64_t num_groups) {
  std::int64_t last_chunk = -1;
  bool is_tight = start == 0;  // the limit knows the block's groups
  for (bool is_changed = true; is_changed && !is_complete_;) {
    is_changed = false;
    std::int64_t num_passing = find_passing(num_groups);
    if (num_passing > 2 * k_ && !is_tight) {
      tighten(num_groups);
      is_tight = true;
      num_passing = find_passing(num_groups);
    }
    for (std::int64_t i = 0; i < num_passing && !is_changed; ++i) {
      const std::int64_t chunk = memory_.passing[i] / code_.num_lanes;
      if (chunk <= last_chunk) continue;
      last_chunk = chunk;
      const Key limit = limit_;
      find_elements(row, start + chunk * code_.chunk(), code_.chunk(), code_.filter_row);
      is_changed = limit != limit_ || is_complete_;
    }
  }
}

template <class Key>
void RowSelector<Key>::set_limit(Key key) {
  run_ = order_.run_of(key);
  limit_ = run_.last;
  num_in_limit_ = 0;
  has_limit_ = true;
  excludes_run_ = false;
}

template <class Key>
void RowSelector<Key>::exclude_run() {
  excludes_run_ = true;
  is_complete_ = run_.first == std::numeric_limits<Key>::min();
  if (!is_complete_) limit_ = static_cast<Key>(run_.first - 1);
}

template <class Key>
void RowSelector<Key>::tighten(std::int64_t num_groups) {
  if (num_groups < k_) return;
  const std::int64_t wanted = std::max(k_ * kGroupsPerResult, kFewestGroups);
  const Key* minima = memory_.minima;
  // Joins groups from far apart: where the row ascends, its first keys are in neighbours.
  while (num_groups / 2 >= wanted) {
    const std::int64_t vectors = num_groups / code_.num_lanes;
    const std::int64_t num_joined = vectors / 2 * code_.num_lanes;
    const std::int64_t num_left = num_groups - num_joined;
    code_.fold_minima(minima, minima + num_left, memory_.groups, num_joined);
    if (minima != memory_.groups) {
      std::copy(minima + num_joined, minima + num_left, memory_.groups + num_joined);
    }
    minima = memory_.groups;
    num_groups = num_left;
  }
  if (minima != memory_.groups) std::copy_n(minima, num_groups, memory_.groups);
  sorter_.sort(memory_.groups, memory_.other, num_groups, k_);
  const Key bound = memory_.groups[k_ - 1];
  if (!has_limit_ || order_.run_of(bound).last < limit_) set_limit(bound);
}

template <class Key>
std::int64_t RowSelector<Key>::find_passing(std::int64_t num_groups) {
  const std::byte* end = code_.filter_minima(memory_.minima, memory_.passing, num_groups, 0, limit_);
  return reinterpret_cast<const Key*>(end) - memory_.passing;
}

template <class Key>
void RowSelector<Key>::find_elements(const RowReader& row, std::int64_t first, std::int64_t count, FilterKeys filter) {
  elements_read_ += count;
  Key* const to = memory_.found + num_found_;
  const std::byte* end = filter(row.read(first, count), to, count, first, limit_);
  const std::int64_t num_new = reinterpret_cast<const Key*>(end) - to;
  num_found_ += num_new;
  num_in_limit_ += num_new;
  if (num_found_ > many_found(k_)) {
    set_limit(order_.reduce(memory_.found, num_found_));
    num_found_ = k_;
    exclude_run();
  } else if (has_limit_ && !excludes_run_ && num_in_limit_ >= k_) {
    exclude_run();
  }
}

template class RowSelector<std::int32_t>;
template class RowSelector<std::int64_t>;

}  // namespace millrace
