// SPDX-License-Identifier: Apache-2.0
// Selects the first k keys of a long row: a limit from group minima, then the chunks and elements that pass it.
#include "hal/host/routines/topk/row_selector.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "hal/host/routines/topk/match_bits.h"
#include "hal/host/routines/topk/row_sample.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

/// Groups per result. The limit is the k-th smallest of the groups' minima, and about k + k * k / (2 * groups) elements
/// pass it: with four groups per result, k + k / 8. Sorting twice as many groups takes longer than it saves.
constexpr std::int64_t kGroupsPerResult = 4;
constexpr std::int64_t kMinGroups = 128;

/// If fewer than k elements pass the limit, the row is searched again. The next limit has four times the rank among the
/// groups' minima; k elements then almost always pass.
constexpr std::int64_t kNextLimit = 4;
/// Chunks that are searched before the number of elements found is checked.
constexpr std::int64_t kChunksAtOnce = 64;

}  // namespace

template <class Key>
std::int64_t RowSelector<Key>::select(const RowReader& row, std::int64_t n, std::int64_t k) {
  start(k);
  return k > kMaxByGroups ? select_by_sample(row, n) : select_by_groups(row, n);
}

template <class Key>
void RowSelector<Key>::start(std::int64_t k) {
  k_ = k;
  num_found_ = num_in_limit_ = 0;
  limit_ = std::numeric_limits<Key>::max();
  equal_keys_ = {limit_, limit_};
  has_limit_ = excludes_equal_keys_ = is_complete_ = false;
}

template <class Key>
std::int64_t RowSelector<Key>::select_by_groups(const RowReader& row, std::int64_t n) {
  if (n > kBlock && n >= kMinSampledTimesK * k_) {
    // Sample the whole row: if keys decrease along it, the limit of one block excludes nothing in the next.
    const std::int64_t num_groups = sample(row, n, kSampledElementsOfLongRow / code_.num_lanes),
                       rank = sample_limit_rank(num_groups, n);
    sorter_.sort(memory_.minima, memory_.other, num_groups, num_groups);
    if (rank < num_groups) set_limit(memory_.minima[rank]);
    const std::int64_t passing_of_block = rank * (kBlock / RowSelectorCode::kVectorsPerChunk) / num_groups;
    const bool is_limit_good = row.loader() == nullptr && has_limit_ && passing_of_block <= kMaxGroupsAtOnce * 3 / 4;
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
  if (has_columns) return {start, num_chunks, 1, num_chunks, true};
  return {start, num_chunks, RowSelectorCode::kVectorsPerChunk, 1, false};
}

template <class Key>
void RowSelector<Key>::find_in_blocks(const RowReader& row, std::int64_t n) {
  for (std::int64_t start = 0; start < n && !is_complete_; start += kBlock) {
    const std::int64_t count = std::min(kBlock, n - start);
    // Computed elements are read in pieces. Long rows are not in a cache, so they are read in the order of memory.
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
    const std::byte* const end = at(code_.find_passing)(row.read(start, count), memory_.passing, count, 0, limit_);
    const std::int64_t num_groups = reinterpret_cast<const Key*>(end) - memory_.passing;
    elements_read_ += count;
    if (num_groups <= kMaxGroupsAtOnce) {
      MILLRACE_CHECK(append_passing(row, block, join_groups(num_groups), start, kMaxAtOnce));
      update_limit();
    } else {
      // The limit excludes too few groups here.
      find_minima(row, block);
      find_in_block(row, block, false);
    }
    // After the first block, reduce as soon as more than k elements are found: their limit is better than the sample's.
    // Later, wait for almost 2 * k elements; keeping the best k of them about halves the number that pass.
    if ((start == 0 ? num_found_ > k_ : num_found_ > 7 * k_ / 4) && !is_complete_) reduce_found();
  }
  if (!is_complete_) find_elements(row, whole, n - whole, code_.filter_row);
}

template <class Key>
std::int64_t RowSelector<Key>::select_by_sample(const RowReader& row, std::int64_t n) {
  std::int64_t num_groups = 0, rank = 0;
  if (n >= kMinSampledTimesK * k_) {
    num_groups = sample(row, n, kSampledVectors);
    rank = sample_limit_rank(num_groups, n);
    sorter_.sort(memory_.minima, memory_.other, num_groups, num_groups);
  }
  while (true) {
    if (rank < num_groups) set_limit(memory_.minima[rank]);
    for (std::int64_t first = 0; first < n && !is_complete_; first += kPiece) {
      find_elements(row, first, std::min(kPiece, n - first), code_.filter_whole_row);
    }
    if (num_found_ >= k_) return num_found_;
    start(k_);
    rank *= kNextLimit;
  }
}

template <class Key>
std::int64_t RowSelector<Key>::sample_limit_rank(std::int64_t num_groups, std::int64_t n) const {
  const auto num_elements = static_cast<double>(num_groups * RowSelectorCode::kVectorsPerChunk);
  const double expected = static_cast<double>(k_) * num_elements / static_cast<double>(n);
  return static_cast<std::int64_t>(expected + 2.5 * std::sqrt(expected)) + 2;
}

template <class Key>
std::int64_t RowSelector<Key>::sample(const RowReader& row, std::int64_t n, std::int64_t num_vectors) {
  constexpr std::int64_t kVectors = RowSelectorCode::kVectorsPerChunk;
  const std::int64_t vectors_together = std::max<std::int64_t>(kSampledTogether / code_.num_lanes, 1),
                     together = vectors_together * code_.num_lanes, num_places = num_vectors / vectors_together,
                     stride = n / num_places, num_chunks = num_vectors / kVectors;
  const std::int64_t bytes = code_.num_lanes * row.element_bytes();
  auto* const chunks = reinterpret_cast<std::byte*>(memory_.passing);
  for (std::int64_t chunk = 0; chunk < num_chunks; chunk += vectors_together) {
    // Put elements from far apart into a group: in a sorted row, the first elements are neighbours.
    for (std::int64_t i = 0; i < kVectors; ++i) {
      const std::int64_t number = (i * num_chunks + chunk) / vectors_together;
      const std::byte* from = row.read(number * stride + place_between(number, stride - together), together);
      for (std::int64_t j = 0; j < vectors_together; ++j, from += bytes) {
        std::memcpy(chunks + (j * kVectors + i) * bytes, from, static_cast<std::size_t>(bytes));
      }
    }
    at(code_.find_minima)(chunks, memory_.minima + chunk * code_.num_lanes, vectors_together * code_.chunk());
  }
  elements_read_ += num_vectors * code_.num_lanes;
  return num_chunks * code_.num_lanes;
}

template <class Key>
void RowSelector<Key>::find_minima(const RowReader& row, const Block& block) {
  const std::int64_t count = block.num_chunks * code_.chunk();
  elements_read_ += count;
  if (row.loader() != nullptr && code_.find_computed_minima.offset != 0) {
    return row.loader()->compute_by(at(code_.find_computed_minima), block.start, count, memory_.minima);
  }
  if (block.has_columns) {
    const std::int64_t pitch = block.vector_step * code_.num_lanes;
    at(code_.find_column_minima)(row.read(block.start, count), memory_.minima, pitch, pitch * row.element_bytes());
    return;
  }
  const std::int64_t max = row.max_at_once();
  for (std::int64_t first = 0; first < count; first += max) {
    const std::int64_t num_now = std::min(max, count - first);
    at(code_.find_minima)(row.read(block.start + first, num_now),
                          memory_.minima + first / RowSelectorCode::kVectorsPerChunk, num_now);
  }
}

template <class Key>
void RowSelector<Key>::find_in_block(const RowReader& row, const Block& block, bool is_tight) {
  const std::int64_t num_groups = block.num_chunks * code_.num_lanes;
  std::int64_t num_passing = find_passing(block);
  if (!is_tight && num_passing * code_.num_lanes > 2 * k_ && count_passing_groups(block) > 2 * k_) {
    tighten(num_groups);
    num_passing = find_passing(block);
  }
  // Find all passing elements at once if only a few groups pass. If only a few chunks pass, reading them is faster than
  // counting their groups. A block of columns may have more passing groups: it is a whole row, so nothing has been
  // found yet and there is room for many elements. If even more pass (many equal elements), finding them all at once
  // gains nothing.
  const std::int64_t max_groups = block.has_columns ? std::max(kMaxGroupsAtOnce, many_found(k_)) : kMaxGroupsAtOnce;
  const bool may_be_few = num_passing <= kChunksAtOnce || count_passing_groups(block) <= max_groups;
  if (may_be_few && find_with_one_limit(row, block, num_passing, block.start)) return;
  if (block.has_columns) return find_in_columns(row, block);
  std::int64_t next_chunk = 0;  // earlier chunks are done
  for (bool is_changed = true; is_changed && !is_complete_;) {
    is_changed = false;
    for (std::int64_t i = 0; i < num_passing && !is_changed; ++i) {
      const std::int64_t chunk = memory_.passing[i];
      if (chunk < next_chunk) continue;
      const Key limit = limit_;
      find_elements(row, block.start + chunk * code_.chunk(), code_.chunk(), code_.filter_row);
      next_chunk = chunk + 1;
      is_changed = limit != limit_ || is_complete_;
    }
    if (is_changed) num_passing = find_passing(block);
  }
}

template <class Key>
bool RowSelector<Key>::find_with_one_limit(const RowReader& row, const Block& block, std::int64_t num_passing,
                                           std::int64_t first) {
  // A chunk's elements are written before they are counted, so leave room for one chunk.
  const std::int64_t max = max_found(k_) - kVectorSpare - num_found_ - code_.chunk();
  if (!has_limit_ || !append_passing(row, block, num_passing, first, max)) return false;
  update_limit();
  return true;
}

/// Columns are not in the row's order, so all passing elements of the block must be found with one limit. If too many
/// pass, for example because many are equal, reads the block in order until only a few groups pass a new limit.
template <class Key>
void RowSelector<Key>::find_in_columns(const RowReader& row, const Block& block) {
  const std::int64_t num_groups = block.num_chunks * code_.num_lanes, count = block.num_chunks * code_.chunk();
  std::int64_t next_try = 0;  // checking the groups takes as long as reading `num_groups` elements
  for (std::int64_t done = 0; done < count && !is_complete_;) {
    const Key limit = limit_;
    find_elements(row, block.start + done, code_.chunk(), code_.filter_row);
    done += code_.chunk();
    if (limit == limit_ || is_complete_ || done < next_try) continue;
    const std::int64_t num_passing = find_passing(block);
    if (count_passing_groups(block) <= kMaxGroupsAtOnce &&
        find_with_one_limit(row, block, num_passing, block.start + done)) {
      return;
    }
    next_try = done + num_groups;
  }
}

template <class Key>
bool RowSelector<Key>::append_passing(const RowReader& row, const Block& block, std::int64_t num_passing,
                                      std::int64_t first, std::int64_t max) {
  return code_.mask_bytes() > 1 ? append_chunks<16>(row, block, num_passing, first, max)
                                : append_chunks<8>(row, block, num_passing, first, max);
}

template <class Key>
template <int kBits>
bool RowSelector<Key>::append_chunks(const RowReader& row, const Block& block, std::int64_t num_chunks,
                                     std::int64_t first, std::int64_t max) {
  const std::int64_t vector_step = block.vector_step * code_.num_lanes, pitch_bytes = vector_step * row.element_bytes(),
                     max_now = std::min(kChunksAtOnce, row.max_at_once() / code_.chunk());
  Key* end = end_of_found();
  std::int64_t num_matches = 0;
  for (std::int64_t done = 0; done < num_chunks; done += max_now) {
    const Key* const chunks = memory_.passing + done;
    const std::int64_t num_now = std::min(num_chunks - done, max_now);
    const std::byte* const elements = make_steps(row, block, chunks, num_now);
    at(code_.match_elements)(elements, memory_.groups, num_now * code_.num_lanes, memory_.other, limit_, pitch_bytes);
    elements_read_ += num_now * code_.chunk();
    const auto* bits = reinterpret_cast<const std::byte*>(memory_.groups);
    for (std::int64_t i = 0; i < num_now; ++i, bits += RowSelectorCode::kVectorsPerChunk * kBits / 8) {
      const std::int64_t number_of_first = block.start + chunks[i] * block.chunk_step * code_.num_lanes;
      for_each_match<kBits>(bits, number_of_first, vector_step, [&](std::int64_t number) {
        *end = static_cast<Key>(number);
        end += number >= first ? 1 : 0;
        ++num_matches;
      });
      if (num_matches > max) return false;
    }
  }
  count_found(end);
  return true;
}

template <class Key>
const std::byte* RowSelector<Key>::make_steps(const RowReader& row, const Block& block, const Key* chunks,
                                              std::int64_t num_chunks) {
  if (row.loader() != nullptr) {
    std::fill_n(memory_.other, num_chunks, Key{0});
    return row.read_pieces(chunks, num_chunks, block.start, code_.chunk());
  }
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < num_chunks; ++i) {
    const std::int64_t next = chunks[i] * block.chunk_step;
    memory_.other[i] = static_cast<Key>(next - place);
    place = next + RowSelectorCode::kVectorsPerChunk * block.vector_step;
  }
  return row.read(block.start, block.num_chunks * code_.chunk());
}

template <class Key>
std::int64_t RowSelector<Key>::join_groups(std::int64_t num_groups) {
  const int shift = std::countr_zero(static_cast<std::uint64_t>(code_.num_lanes));
  std::int64_t num_chunks = 0, last = -1;
  for (std::int64_t i = 0; i < num_groups; ++i) {
    const std::int64_t chunk = memory_.passing[i] >> shift;
    if (chunk != last) memory_.passing[num_chunks++] = static_cast<Key>(chunk);
    last = chunk;
  }
  return num_chunks;
}

template <class Key>
void RowSelector<Key>::set_limit(Key key) {
  equal_keys_ = order_.run_of(key);
  limit_ = equal_keys_.last;
  num_in_limit_ = 0;
  has_limit_ = true;
  excludes_equal_keys_ = false;
}

template <class Key>
void RowSelector<Key>::exclude_equal_keys() {
  excludes_equal_keys_ = true;
  is_complete_ = equal_keys_.first == std::numeric_limits<Key>::min();
  if (!is_complete_) limit_ = static_cast<Key>(equal_keys_.first - 1);
}

template <class Key>
void RowSelector<Key>::tighten(std::int64_t num_groups) {
  if (num_groups < k_) return;
  const std::int64_t wanted = std::max(k_ * kGroupsPerResult, kMinGroups);
  const Key* minima = memory_.minima;
  // Join groups from far apart: in a sorted row, the first keys are in neighbouring groups.
  while (num_groups / 4 >= wanted) {
    const std::int64_t quarter = num_groups / 4 / code_.num_lanes * code_.num_lanes, rest = num_groups - 4 * quarter;
    at(code_.fold_four_minima)(minima, minima + quarter, minima + 2 * quarter, minima + 3 * quarter, memory_.groups,
                               quarter);
    std::copy_n(minima + 4 * quarter, rest, memory_.groups + quarter);
    minima = memory_.groups;
    num_groups = quarter + rest;
  }
  if (num_groups / 2 >= wanted) {
    const std::int64_t half = num_groups / 2 / code_.num_lanes * code_.num_lanes, rest = num_groups - 2 * half;
    at(code_.fold_minima)(minima, minima + half, memory_.groups, half);
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
std::int64_t RowSelector<Key>::find_passing(const Block& block) {
  at(code_.match_minima)(memory_.minima, memory_.groups, block.num_chunks * code_.num_lanes, limit_);
  const std::byte* const end = at(code_.list_chunks)(memory_.groups, memory_.passing, block.num_chunks);
  return reinterpret_cast<const Key*>(end) - memory_.passing;
}

template <class Key>
std::int64_t RowSelector<Key>::count_passing_groups(const Block& block) const {
  return count_ones(reinterpret_cast<const std::byte*>(memory_.groups), block.num_chunks * code_.mask_bytes());
}

template <class Key>
void RowSelector<Key>::find_elements(const RowReader& row, std::int64_t first, std::int64_t count,
                                     Microkernel<FilterKeys> filter) {
  elements_read_ += count;
  count_found(reinterpret_cast<Key*>(at(filter)(row.read(first, count), end_of_found(), count, first, limit_)));
  update_limit();
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
  } else if (has_limit_ && !excludes_equal_keys_ && num_in_limit_ >= k_) {
    exclude_equal_keys();
  }
}

template <class Key>
void RowSelector<Key>::reduce_found() {
  set_limit(order_.reduce(memory_.found, num_found_));
  num_found_ = k_;
  exclude_equal_keys();
}

template class RowSelector<std::int32_t>;
template class RowSelector<std::int64_t>;

}  // namespace millrace
