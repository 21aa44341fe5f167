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
                                                            bool has_columns) const {
  const std::int64_t num_chunks = count / code_.chunk();
  if (has_columns) return {start, num_chunks, code_.num_lanes, num_chunks * code_.num_lanes, true};
  return {start, num_chunks, code_.chunk(), code_.num_lanes, false};
}

template <class Key>
void RowSelector<Key>::find_in_blocks(const RowReader& row, std::int64_t n) {
  for (std::int64_t start = 0; start < n && !is_complete_; start += kBlock) {
    const std::int64_t count = std::min(kBlock, n - start);
    // What is computed is read in pieces. Long rows come from far, in the order of memory.
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
    if (!find_in_groups(row, block, num_passing, start)) {
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
  if (block.has_columns) {
    code_.find_column_minima(row.read(block.start, count), memory_.minima, block.vector_step,
                             block.vector_step * row.element_bytes());
    return;
  }
  const std::int64_t most = row.most_at_once();
  for (std::int64_t first = 0; first < count; first += most) {
    const std::int64_t num_now = std::min(most, count - first);
    code_.find_minima(row.read(block.start + first, num_now),
                      memory_.minima + first / RowSelectorCode::kVectorsPerChunk, num_now);
  }
}

template <class Key>
void RowSelector<Key>::find_in_block(const RowReader& row, const Block& block, bool is_tight) {
  const std::int64_t num_groups = block.num_chunks * code_.num_lanes;
  std::int64_t num_passing = find_passing(num_groups);
  if (num_passing > 2 * k_ && !is_tight) {
    tighten(num_groups);
    num_passing = find_passing(num_groups);
  }
  if (find_in_groups(row, block, num_passing, block.start)) return;
  if (block.has_columns) return find_in_columns(row, block, num_passing);
  std::int64_t next_chunk = 0;  // those before it are done
  for (bool is_changed = true; is_changed && !is_complete_;) {
    is_changed = false;
    for (std::int64_t i = 0; i < num_passing && !is_changed; ++i) {
      const std::int64_t chunk = chunk_of(memory_.passing[i]);
      if (chunk < next_chunk) continue;
      const Key limit = limit_;
      find_elements(row, block.start + chunk * block.chunk_step, code_.chunk(), code_.filter_row);
      next_chunk = chunk + 1;
      is_changed = limit != limit_ || is_complete_;
    }
    if (is_changed) num_passing = find_passing(num_groups);
  }
}

template <class Key>
bool RowSelector<Key>::find_in_groups(const RowReader& row, const Block& block, std::int64_t num_passing,
                                      std::int64_t first) {
  if (!has_limit_ || row.loader() != nullptr || num_passing > kMostGroupsAtOnce) return false;
  Key* const begin = end_of_found();
  append_groups(row, block, memory_.passing, num_passing);
  if (first > block.start) drop_before(first, begin);
  update_limit();
  return true;
}

/// Columns are not in the row's order. So all that the block has up to the limit is found before the limit changes. If
/// that is too much, as where many elements are equal, it is read in order, until few groups reach a new limit.
template <class Key>
void RowSelector<Key>::find_in_columns(const RowReader& row, const Block& block, std::int64_t num_passing) {
  // Each group has an element or more.
  bool is_too_much = !has_limit_ || num_passing > many_found(k_);
  // A column is read as fast as two groups of it.
  const bool are_groups_few = num_passing < 2 * block.num_chunks;
  for (std::int64_t done = 0; done < num_passing && !is_too_much; is_too_much = num_found_ > many_found(k_)) {
    if (are_groups_few) {
      const std::int64_t num_now = std::min(num_passing - done, kMostGroupsAtOnce);
      append_groups(row, block, memory_.passing + done, num_now);
      done += num_now;
    } else {
      const std::int64_t chunk = chunk_of(memory_.passing[done]);
      append_column(row, block, chunk);
      while (done < num_passing && chunk_of(memory_.passing[done]) == chunk) ++done;
    }
  }
  if (!is_too_much) return update_limit();
  num_found_ = num_in_limit_ = 0;  // a block of columns is a whole row
  const std::int64_t num_groups = block.num_chunks * code_.num_lanes, count = block.num_chunks * code_.chunk();
  std::int64_t next_try = 0;  // looking at the groups takes as long as reading as many elements
  for (std::int64_t done = 0; done < count && !is_complete_;) {
    const Key limit = limit_;
    find_elements(row, block.start + done, code_.chunk(), code_.filter_row);
    done += code_.chunk();
    if (limit == limit_ || is_complete_ || done < next_try) continue;
    if (find_in_groups(row, block, find_passing(num_groups), block.start + done)) return;
    next_try = done + num_groups;
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
  while (num_groups / 4 >= wanted) {
    const std::int64_t quarter = num_groups / 4 / code_.num_lanes * code_.num_lanes, rest = num_groups - 4 * quarter;
    code_.fold_four_minima(minima, minima + quarter, minima + 2 * quarter, minima + 3 * quarter, memory_.groups,
                           quarter);
    std::copy_n(minima + 4 * quarter, rest, memory_.groups + quarter);
    minima = memory_.groups;
    num_groups = quarter + rest;
  }
  if (num_groups / 2 >= wanted) {
    const std::int64_t half = num_groups / 2 / code_.num_lanes * code_.num_lanes, rest = num_groups - 2 * half;
    code_.fold_minima(minima, minima + half, memory_.groups, half);
    std::copy_n(minima + 2 * half, rest, memory_.groups + half);
    minima = memory_.groups;
    num_groups = half + rest;
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
  count_found(reinterpret_cast<Key*>(filter(row.read(first, count), end_of_found(), count, first, limit_)));
}

template <class Key>
void RowSelector<Key>::append_column(const RowReader& row, const Block& block, std::int64_t chunk) {
  elements_read_ += code_.chunk();
  const std::int64_t first = block.start + chunk * block.chunk_step, pitch = block.vector_step * row.element_bytes();
  const std::byte* const column = row.read(first, block.num_chunks * code_.chunk());
  count_found(reinterpret_cast<Key*>(code_.filter_column(column, end_of_found(), code_.chunk(), first, limit_, pitch)));
}

template <class Key>
void RowSelector<Key>::append_groups(const RowReader& row, const Block& block, const Key* groups,
                                     std::int64_t num_groups) {
  constexpr std::int64_t kPerGroup = RowSelectorCode::kVectorsPerChunk;
  static_assert(kMostGroupsAtOnce * kPerGroup * 8 <= kMinimaBytes);
  const std::int64_t count = num_groups * kPerGroup;
  elements_read_ += count;
  Key* const numbers = memory_.groups;
  code_.number_elements(groups, numbers, num_groups, block.start, block.chunk_step, block.vector_step);
  auto* const copies = reinterpret_cast<std::byte*>(memory_.other);
  row.copy(numbers, count, copies);
  count_found(reinterpret_cast<Key*>(code_.filter_numbered(copies, end_of_found(), count, numbers, limit_)));
}

template <class Key>
void RowSelector<Key>::drop_before(std::int64_t first, Key* begin) {
  using Number = std::make_unsigned_t<Key>;
  const auto is_before = [first](Key number) { return static_cast<Number>(number) < static_cast<Number>(first); };
  const std::int64_t num_dropped = end_of_found() - std::remove_if(begin, end_of_found(), is_before);
  num_found_ -= num_dropped;
  num_in_limit_ -= num_dropped;
}

template <class Key>
void RowSelector<Key>::count_found(const Key* end) {
  const std::int64_t num_new = end - end_of_found();
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
