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
/// For a limit that groups improve: fewer, and as many elements for vectors of any width.
constexpr std::int64_t kSampledOfLongRow = 1024;
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
  if (n > kBlock && n >= kFewestSampledTimesK * k_) {
    // Where a long row ascends, the limit of one block is none for the next.
    const std::int64_t num_groups = sample(row, n, kSampledOfLongRow / code_.num_lanes),
                       wanted = wanted_of_sample(num_groups, n);
    sorter_.sort(memory_.minima, memory_.other, num_groups, num_groups);
    if (wanted < num_groups) set_limit(memory_.minima[wanted]);
    const std::int64_t passing_of_block = wanted * (kBlock / RowSelectorCode::kVectorsPerChunk) / num_groups;
    const bool is_limit_good = row.loader() == nullptr && has_limit_ && passing_of_block <= kMostGroupsAtOnce * 3 / 4;
    is_limit_good ? find_in_long_row(row, n) : find_in_blocks(row, n);
    if (num_found_ >= k_) return num_found_;
    start(k_);
  }
  find_in_blocks(row, n);
  return num_found_;
}

template <class Key>
typename RowSelector<Key>::Block RowSelector<Key>::block_at(std::int64_t start, std::int64_t count,
                                                            bool has_tiles) const {
  constexpr std::int64_t kColumns = RowSelectorCode::kColumnsPerTile;
  const std::int64_t num_chunks = count / code_.chunk();
  if (!has_tiles || num_chunks < kColumns) return {start, num_chunks, 0, num_chunks};
  return {start, num_chunks, kColumns, num_chunks % kColumns};
}

template <class Key>
void RowSelector<Key>::find_in_blocks(const RowReader& row, std::int64_t n) {
  for (std::int64_t start = 0; start < n && !is_complete_; start += kBlock) {
    const std::int64_t count = std::min(kBlock, n - start);
    // What is computed is read in pieces smaller than a tile. Long rows come from far, in the order of memory.
    const Block block = block_at(start, count, row.loader() == nullptr && n <= kBlock);
    const bool had_limit = has_limit_;
    find_minima(row, block);
    if (!has_limit_) tighten(block.num_chunks * code_.num_lanes);
    find_in_block(row, block, !had_limit);
    if (is_complete_) break;
    const std::int64_t done = block.num_chunks * code_.chunk();
    find_elements(row, start + done, count - done, code_.filter_row);
  }
}

template <class Key>
void RowSelector<Key>::find_in_long_row(const RowReader& row, std::int64_t n) {
  const std::int64_t whole = n / code_.chunk() * code_.chunk();
  for (std::int64_t start = 0; start < whole && !is_complete_; start += kBlock) {
    const std::int64_t count = std::min(kBlock, whole - start);
    const Block block = block_at(start, count, false);
    const std::byte* const end = code_.find_passing(row.read(start, count), memory_.passing, count, 0, limit_);
    const std::int64_t num_passing = reinterpret_cast<const Key*>(end) - memory_.passing;
    elements_read_ += count;
    if (!find_in_groups(row, block, num_passing)) {
      // The limit is of no use here.
      find_minima(row, block);
      find_in_block(row, block, false);
    }
    // The first block has a better limit than the sample.
    if (start == 0 && num_found_ > k_ && !is_complete_) reduce_found();
  }
  if (!is_complete_) find_elements(row, whole, n - whole, code_.filter_row);
}

template <class Key>
std::int64_t RowSelector<Key>::select_by_sample(const RowReader& row, std::int64_t n) {
  std::int64_t num_groups = 0, wanted = 0;
  if (n >= kFewestSampledTimesK * k_) {
    num_groups = sample(row, n, kSampledVectors);
    wanted = wanted_of_sample(num_groups, n);
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
std::int64_t RowSelector<Key>::wanted_of_sample(std::int64_t num_groups, std::int64_t n) const {
  const auto num_elements = static_cast<double>(num_groups * RowSelectorCode::kVectorsPerChunk);
  const double expected = static_cast<double>(k_) * num_elements / static_cast<double>(n);
  return static_cast<std::int64_t>(expected + 2.5 * std::sqrt(expected)) + 2;
}

template <class Key>
std::int64_t RowSelector<Key>::sample(const RowReader& row, std::int64_t n, std::int64_t num_vectors) {
  const std::int64_t groups_per_lane = num_vectors / RowSelectorCode::kVectorsPerChunk;
  const std::int64_t bytes = code_.num_lanes * row.element_bytes(), stride = n / num_vectors;
  auto* const vectors = reinterpret_cast<std::byte*>(memory_.passing);
  for (std::int64_t group = 0; group < groups_per_lane; ++group) {
    // Joins elements from far apart: where the row ascends, its first ones are in neighbours.
    for (std::int64_t i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      const std::int64_t vector = i * groups_per_lane + group;
      const std::int64_t place = vector * stride + place_between(vector, stride - code_.num_lanes);
      std::memcpy(vectors + i * bytes, row.read(place, code_.num_lanes), static_cast<std::size_t>(bytes));
    }
    code_.find_minima(vectors, memory_.minima + group * code_.num_lanes, code_.chunk());
  }
  elements_read_ += num_vectors * code_.num_lanes;
  return groups_per_lane * code_.num_lanes;
}

template <class Key>
void RowSelector<Key>::find_minima(const RowReader& row, const Block& block) {
  const std::int64_t count = block.num_chunks * code_.chunk();
  elements_read_ += count;
  if (row.loader() != nullptr && code_.find_computed_minima != nullptr) {
    return row.loader()->compute_by(code_.find_computed_minima, block.start, count, memory_.minima);
  }
  const auto minima_of = [&](std::int64_t first) { return memory_.minima + first / RowSelectorCode::kVectorsPerChunk; };
  const std::int64_t first_loose = block.first_loose * code_.chunk();
  const std::int64_t end_loose = first_loose + block.num_loose * code_.chunk();
  const std::int64_t most = row.most_at_once();
  for (std::int64_t first = 0; first < count;) {
    if (first >= first_loose && first < end_loose) {
      const std::int64_t num_now = std::min(most, end_loose - first);
      code_.find_minima(row.read(block.start + first, num_now), minima_of(first), num_now);
      first += num_now;
    } else {
      const std::byte* const tile = row.read(block.start + first, code_.tile());
      code_.find_tile_minima(tile, minima_of(first), code_.num_lanes * RowSelectorCode::kColumnsPerTile,
                             tile + code_.tile() * row.element_bytes());
      first += code_.tile();
    }
  }
}

template <class Key>
void RowSelector<Key>::find_in_block(const RowReader& row, const Block& block, bool is_tight) {
  const std::int64_t num_groups = block.num_chunks * code_.num_lanes;
  std::int64_t next_chunk = 0;  // those before it are done
  for (bool is_changed = true; is_changed && !is_complete_;) {
    is_changed = false;
    std::int64_t num_passing = find_passing(num_groups);
    if (num_passing > 2 * k_ && !is_tight) {
      tighten(num_groups);
      is_tight = true;
      num_passing = find_passing(num_groups);
    }
    if (next_chunk == 0 && find_in_groups(row, block, num_passing)) return;
    for (std::int64_t i = 0; i < num_passing && !is_changed; ++i) {
      const std::int64_t chunk = chunk_of(memory_.passing[i]);
      if (chunk < next_chunk) continue;
      const Key limit = limit_;
      if (block.is_tiled(chunk)) {
        next_chunk = find_in_tile(row, block, memory_.passing + i, memory_.passing + num_passing);
      } else {
        find_elements(row, block.start + chunk * code_.chunk(), code_.chunk(), code_.filter_row);
        next_chunk = chunk + 1;
      }
      is_changed = limit != limit_ || is_complete_;
    }
  }
}

template <class Key>
typename RowSelector<Key>::Group RowSelector<Key>::group_at(const Block& block, Key group) const {
  const std::int64_t chunk = chunk_of(group), lane = group & (code_.num_lanes - 1);
  if (!block.is_tiled(chunk)) return {block.start + chunk * code_.chunk(), code_.num_lanes, lane};
  const std::int64_t tile = block.tile_of(chunk);
  return {block.start + tile * code_.chunk() + (chunk - tile) * code_.num_lanes,
          RowSelectorCode::kColumnsPerTile * code_.num_lanes, lane};
}

template <class Key>
bool RowSelector<Key>::find_in_groups(const RowReader& row, const Block& block, std::int64_t num_passing) {
  constexpr std::int64_t kPerGroup = RowSelectorCode::kVectorsPerChunk;
  static_assert(kMostGroupsAtOnce * kPerGroup * 8 <= kMinimaBytes);
  const std::int64_t count = num_passing * kPerGroup;
  if (!has_limit_ || row.loader() != nullptr || num_passing > kMostGroupsAtOnce) return false;
  const std::byte* const elements = row.read(0, block.start + block.num_chunks * code_.chunk());
  auto* const copies = reinterpret_cast<std::byte*>(memory_.other);
  Key* const numbers = memory_.groups;
  with_element_size(row.element_bytes(), [this, block, elements, copies, numbers, num_passing](auto bytes) {
    std::byte* to = copies;
    Key* number = numbers;
    const Key* const end = memory_.passing + num_passing;
    for (const Key* passing = memory_.passing; passing < end; ++passing) {
      const Group group = group_at(block, *passing);
      for (int i = 0; i < kPerGroup; ++i) {
        std::memcpy(to + i * bytes, elements + group.element(i) * bytes, bytes);
        number[i] = static_cast<Key>(group.element(i));
      }
      to += kPerGroup * bytes;
      number += kPerGroup;
    }
  });
  Key* const to = memory_.found + num_found_;
  const std::byte* const end = code_.filter_numbered(copies, to, count, numbers, limit_);
  const std::int64_t num_new = reinterpret_cast<const Key*>(end) - to;
  elements_read_ += count;
  num_found_ += num_new;
  num_in_limit_ += num_new;
  update_limit();
  return true;
}

/// Columns are not in the row's order. So all that a tile has up to the limit is found before the limit changes; or, if
/// that is too much, the tile is read in order.
template <class Key>
std::int64_t RowSelector<Key>::find_in_tile(const RowReader& row, const Block& block, const Key* passing,
                                            const Key* end) {
  constexpr std::int64_t kColumns = RowSelectorCode::kColumnsPerTile;
  const std::int64_t first_chunk = block.tile_of(chunk_of(*passing)), end_chunk = first_chunk + kColumns;
  const std::int64_t start = block.start + first_chunk * code_.chunk();
  const std::int64_t found_before = num_found_, in_limit_before = num_in_limit_;
  std::int64_t last_chunk = -1;
  bool is_too_much = !has_limit_;
  for (; passing < end && !is_too_much; ++passing) {
    const std::int64_t chunk = chunk_of(*passing);
    if (chunk >= end_chunk) break;
    if (chunk == last_chunk) continue;
    last_chunk = chunk;
    append(row, start + (chunk - first_chunk) * code_.num_lanes, code_.chunk(), code_.filter_column);
    is_too_much = num_found_ > many_found(k_);
  }
  if (!is_too_much) {
    update_limit();
    return end_chunk;
  }
  num_found_ = found_before;
  num_in_limit_ = in_limit_before;
  for (std::int64_t done = 0; done < code_.tile() && !is_complete_; done += code_.chunk()) {
    find_elements(row, start + done, code_.chunk(), code_.filter_row);
  }
  return end_chunk;
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
  // Joins groups from far apart, and of other lanes: where the row ascends, or repeats itself, its first keys are in
  // neighbours, or in few lanes.
  for (std::int64_t shift = 1; num_groups / 2 >= wanted; shift *= 2) {
    const std::int64_t num_joined = (num_groups - shift) / 2 / code_.num_lanes * code_.num_lanes;
    const std::int64_t second = num_joined + shift, num_left = num_groups - num_joined;
    code_.fold_minima(minima, minima + second, memory_.groups, num_joined);
    if (minima != memory_.groups) std::copy_n(minima + num_joined, shift, memory_.groups + num_joined);
    std::copy(minima + second + num_joined, minima + num_groups, memory_.groups + second);
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
  append(row, first, count, filter);
  update_limit();
}

template <class Key>
void RowSelector<Key>::append(const RowReader& row, std::int64_t first, std::int64_t count, FilterKeys filter) {
  elements_read_ += count;
  Key* const to = memory_.found + num_found_;
  const std::byte* end = filter(row.read(first, count), to, count, first, limit_);
  const std::int64_t num_new = reinterpret_cast<const Key*>(end) - to;
  num_found_ += num_new;
  num_in_limit_ += num_new;
}

template <class Key>
void RowSelector<Key>::update_limit() {
  if (num_found_ > many_found(k_)) {
    reduce_found();
  } else if (has_limit_ && !excludes_run_ && num_in_limit_ >= k_) {
    exclude_run();
  }
}

template <class Key>
void RowSelector<Key>::reduce_found() {
  set_limit(order_.reduce(memory_.found, num_found_));
  num_found_ = k_;
  exclude_run();
}

template class RowSelector<std::int32_t>;
template class RowSelector<std::int64_t>;

}  // namespace millrace
