// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "hal/host/routines/row_reader.h"
#include "hal/host/routines/sort/row_sorter.h"

namespace millrace {

/// Microkernels for the keys of one dtype. If k and the row length are known, the unneeded ones are absent.
struct RowSelectorCode {
  static constexpr int kVectorsPerChunk = 8;
  /// A chunk has one group per lane. Group g consists of one element per vector of the chunk: from vector i, the one in
  /// lane g ^ lane_xor(i). If all first elements of a row are in one lane, they thus spread over kLaneOrders groups of
  /// each chunk. The groups of computed elements and of find_passing use the same lane in all vectors.
  static constexpr int kLaneOrders = 4;
  static constexpr int lane_xor(int i) { return i % kLaneOrders; }
  std::int64_t num_lanes;
  Microkernel<FilterKeys> filter_row;                                            // for scattered chunks and short rows
  Microkernel<FilterKeys> filter_whole_row;                                      // for consecutive pieces
  Microkernels<FindGroupMinima, RowSorterCode::kNumNetworks> find_group_minima;  // for short rows: 1, 2, 4, ... vectors
  Microkernel<FindMinima> find_minima;                // for longer rows, like the functions below
  Microkernel<ComputeElements> find_computed_minima;  // the same for computed elements; offset 0: absent
  Microkernel<FindColumnMinima> find_column_minima;
  Microkernel<FoldMinima> fold_minima;
  Microkernel<FoldFourMinima> fold_four_minima;
  Microkernel<MatchMinima> match_minima;
  Microkernel<ListChunks> list_chunks;
  Microkernel<FilterKeys> find_passing;  // the indices of groups with a key up to the limit, in whole chunks
  Microkernel<MatchElements> match_elements;

  std::int64_t chunk() const { return num_lanes * kVectorsPerChunk; }
  /// The bytes that hold one bit per lane of a vector, or per group of a chunk.
  std::int64_t mask_bytes() const { return (num_lanes + 7) / 8; }
};

/// Keys that are equal in the order of the sort.
template <class Key>
struct KeyRun {
  Key first, last;
};

/// Finds slightly more than k elements of a row that include the first k, in one pass over memory. An element passes if
/// its key is at most a limit. For small k, the row is read in blocks that stay in the L2 cache, and the minimum keys
/// of groups of elements determine the limit: if k groups have a passing element, elements beyond the limit are not
/// among the first k. Only chunks with a passing element are read again. A row of several blocks starts with the limit
/// of a small sample. For large k, a larger sample gives a limit that probably only slightly more than k elements pass.
/// If fewer than k elements pass a sample's limit, the row is read once more. Once k elements have passed, later
/// elements equal to the limit are not among the first k. If many have passed, the k-th of them becomes the limit.
template <class Key>
class RowSelector {
 public:
  static constexpr std::int64_t kBlock = (128 << 10) / static_cast<std::int64_t>(sizeof(Key));  // elements
  static constexpr std::int64_t kMinimaBytes = (128 << 10) / RowSelectorCode::kVectorsPerChunk;
  /// For k up to this, group minima determine the limit; for larger k, a sample does.
  static constexpr std::int64_t kMaxByGroups = 1024;
  /// The number of elements that are read at once if a sample gives the limit.
  static constexpr std::int64_t kPiece = 1024;
  /// Spare room after arrays that are written or read by vectors: a whole vector may reach past the last element.
  static constexpr std::int64_t kVectorSpare = 16;
  /// The maximum number of passing groups whose elements are found at once. Memory for these elements is reserved.
  static constexpr std::int64_t kMaxGroupsAtOnce = 256;
  static constexpr std::int64_t kMaxAtOnce = kMaxGroupsAtOnce * RowSelectorCode::kVectorsPerChunk;
  static constexpr std::int64_t kPassingBytes = kMinimaBytes + kVectorSpare * static_cast<std::int64_t>(sizeof(Key));
  /// With more elements found than this, sorting them for a better limit is faster than continuing with the present
  /// limit.
  static constexpr std::int64_t many_found(std::int64_t k) { return 2 * k + 128; }
  /// The room for elements found.
  static constexpr std::int64_t max_found(std::int64_t k) { return many_found(k) + kMaxAtOnce + kVectorSpare; }
  static_assert(kMaxAtOnce >= kPiece);

  struct Memory {
    Key* minima;   // kMinimaBytes: the minima of the block's groups
    Key* groups;   // kMinimaBytes: minima of joined groups, or bits of passing groups and elements
    Key* other;    // kMinimaBytes: keys while they are sorted, or steps to chunks
    Key* passing;  // kPassingBytes: the indices of passing groups or chunks, or a sample's elements
    Key* found;    // max_found() of the largest k
  };

  /// The caller's functions for the order of elements, which keys alone do not decide.
  struct Order {
    /// The keys that are equal to `key` in the order of the sort.
    std::function<KeyRun<Key>(Key key)> run_of;
    /// Keeps the first k of the elements found, and returns the key of the k-th.
    std::function<Key(Key* found, std::int64_t num_found)> reduce;
  };

  RowSelector(const void* entry, const RowSelectorCode& code, const RowSorterCode& sorter,
              const RowSorterMemory& sorter_memory, const Memory& memory, Order order)
      : entry_(entry), code_(code), sorter_(entry, sorter, sorter_memory), memory_(memory), order_(std::move(order)) {}

  /// Writes the indices of elements of a row that include the first k. Returns how many there are, at least k.
  std::int64_t select(const RowReader& row, std::int64_t n, std::int64_t k);

  /// The number of elements that all calls read, as a measure of work.
  std::int64_t elements_read() const { return elements_read_; }

 private:
  template <class Function>
  Function at(Microkernel<Function> microkernel) const {
    return microkernel.at(entry_);
  }
  void start(std::int64_t k);
  std::int64_t select_by_groups(const RowReader& row, std::int64_t n);
  void find_in_blocks(const RowReader& row, std::int64_t n);
  /// Like find_in_blocks, for a row in memory with a limit that probably only a few groups pass: finds these groups
  /// while it reads the row.
  void find_in_long_row(const RowReader& row, std::int64_t n);
  std::int64_t select_by_sample(const RowReader& row, std::int64_t n);
  /// Writes the minima of groups of elements from all over the row, and returns the number of groups.
  std::int64_t sample(const RowReader& row, std::int64_t n, std::int64_t num_vectors);
  /// The rank of the minimum, among those of a sample's groups, that becomes the limit: an upper bound for the number
  /// of groups that contain one of the first k elements. One row in a thousand exceeds it.
  std::int64_t sample_limit_rank(std::int64_t num_groups, std::int64_t n) const;
  /// Whole chunks. A chunk's vectors are adjacent in memory, or form a column of the block. If the row is sorted,
  /// columns spread its first elements over many chunks, so that each chunk has few of them.
  struct Block {
    std::int64_t start = 0;
    std::int64_t num_chunks = 0;
    std::int64_t chunk_step = 0, vector_step = 0;  // in vectors: from chunk to chunk, and within a chunk
    bool has_columns = false;
  };
  Block block_at(std::int64_t start, std::int64_t count, bool has_columns) const;
  /// Writes the minima of a block's groups.
  void find_minima(const RowReader& row, const Block& block);
  void set_limit(Key key);
  void exclude_equal_keys();
  /// Replaces the limit with one from the minima of the block's groups, if that is better.
  void tighten(std::int64_t num_groups);
  /// Lists a block's passing chunks, those with a passing group, given the minima of its groups. Returns their number.
  std::int64_t find_passing(const Block& block);
  /// The number of passing groups, after find_passing().
  std::int64_t count_passing_groups(const Block& block) const;
  /// Finds the passing elements of a block, given the minima of its groups. `is_tight`: the limit comes from these
  /// minima.
  void find_in_block(const RowReader& row, const Block& block, bool is_tight);
  /// Finds the passing elements of the passing chunks from element `first` on, with one limit for all; the elements
  /// before `first` are already found. Returns false, and finds nothing, if there is no limit or no room.
  bool find_with_one_limit(const RowReader& row, const Block& block, std::int64_t num_passing, std::int64_t first);
  /// Finds the passing elements of a block of columns that has many passing groups.
  void find_in_columns(const RowReader& row, const Block& block);
  /// Appends the passing elements of the passing chunks from element `first` on. Returns false, and appends nothing, if
  /// more than `max` elements pass.
  bool append_passing(const RowReader& row, const Block& block, std::int64_t num_passing, std::int64_t first,
                      std::int64_t max);
  /// append_passing() with kBits bits per vector.
  template <int kBits>
  bool append_chunks(const RowReader& row, const Block& block, std::int64_t num_chunks, std::int64_t first,
                     std::int64_t max);
  /// Writes the steps from chunk to chunk for match_elements, and returns the address at which the first step begins.
  /// Computes the chunks, one after the other, if the row has a loader.
  const std::byte* make_steps(const RowReader& row, const Block& block, const Key* chunks, std::int64_t num_chunks);
  /// Replaces the indices of the passing groups with those of their chunks, each listed once. Returns the number of
  /// chunks.
  std::int64_t join_groups(std::int64_t num_groups);
  void find_elements(const RowReader& row, std::int64_t first, std::int64_t count, Microkernel<FilterKeys> filter);
  Key* end_of_found() const { return memory_.found + num_found_; }
  /// Counts the elements that were appended to those found, up to `end`.
  void count_found(const Key* end);
  void update_limit();
  /// Makes the k-th of the elements found the limit.
  void reduce_found();

  const void* entry_;
  const RowSelectorCode& code_;
  RowSorter<Key> sorter_;
  Memory memory_;
  Order order_;

  std::int64_t elements_read_ = 0;

  std::int64_t k_ = 0;
  std::int64_t num_found_ = 0;
  std::int64_t num_in_limit_ = 0;  // found since the limit was set
  KeyRun<Key> equal_keys_{};       // the keys equal to the key that set the limit
  Key limit_ = 0;                  // larger keys do not pass
  bool has_limit_ = false;
  bool excludes_equal_keys_ = false;  // the limit is less than equal_keys_
  bool is_complete_ = false;          // no key is less than equal_keys_: nothing more can pass
};

extern template class RowSelector<std::int32_t>;
extern template class RowSelector<std::int64_t>;

}  // namespace millrace
