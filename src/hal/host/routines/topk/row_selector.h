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

/// Microkernels for the keys of one dtype. Where k and the rows' length are known, those that they do not need are
/// absent.
struct RowSelectorCode {
  static constexpr int kVectorsPerChunk = 8;
  /// The element of vector i in a group is in the lane `group's lane ^ lane_xor(i)`: where the first elements of a row
  /// are in one lane, they are in kLaneOrders groups of each chunk. Computed elements keep their lanes, and so do
  /// those that find_passing looks at.
  static constexpr int kLaneOrders = 4;
  static constexpr int lane_xor(int i) { return i % kLaneOrders; }
  std::int64_t num_lanes;
  Microkernel<FilterKeys> filter_row;        // of chunks here and there, or of short rows
  Microkernel<FilterKeys> filter_whole_row;  // of pieces that follow each other
  Microkernels<FindGroupMinima, RowSorterCode::kNumFew> find_group_minima;  // of short rows, as 1, 2, 4, ... vectors
  Microkernel<FindMinima> find_minima;                                      // of others, and what follows
  Microkernel<ComputeElements> find_computed_minima;  // instead, of elements that are computed; or offset 0
  Microkernel<FindColumnMinima> find_column_minima;
  Microkernel<FoldMinima> fold_minima;
  Microkernel<FoldFourMinima> fold_four_minima;
  Microkernel<MatchMinima> match_minima;
  Microkernel<ListChunks> list_chunks;
  Microkernel<FilterKeys> find_passing;  // the numbers of the groups of whole chunks that have a key up to the limit
  Microkernel<MatchElements> match_elements;

  std::int64_t chunk() const { return num_lanes * kVectorsPerChunk; }
  /// The bits of a vector's or a chunk's lanes.
  std::int64_t mask_bytes() const { return (num_lanes + 7) / 8; }
};

/// Keys that are equal in the order of the sort.
template <class Key>
struct KeyRun {
  Key first, last;
};

/// Finds a few elements of a row that have the first k among them, in one pass over memory. For small k, the row is
/// read in blocks that stay in the L2 cache. The minimum keys of groups of elements give a limit: if k groups have a
/// key up to it, elements beyond it are not among the first k. A row of more blocks has a small sample's limit before.
/// Only chunks that have a key up to the limit are read again. For large k, a larger sample gives a limit that few more
/// than k elements are likely to reach. If fewer than k reach a sample's limit, the row is read once more. Once k
/// elements up to the limit are found, later ones that equal it come too late. Where many are found, the k-th of them
/// becomes the limit.
template <class Key>
class RowSelector {
 public:
  static constexpr std::int64_t kBlock = (128 << 10) / static_cast<std::int64_t>(sizeof(Key));  // elements
  static constexpr std::int64_t kMinimaBytes = (128 << 10) / RowSelectorCode::kVectorsPerChunk;
  /// The largest k for which groups give the limit.
  static constexpr std::int64_t kMaxByGroups = 1024;
  /// The elements that are read at once where a sample gives the limit.
  static constexpr std::int64_t kPiece = 1024;
  /// There is room for a vector behind what is appended or read in part, because vectors are written and read whole.
  static constexpr std::int64_t kVectorSpare = 16;
  /// The number of passing groups whose elements are found at once; there is room for these.
  static constexpr std::int64_t kMaxGroupsAtOnce = 256;
  static constexpr std::int64_t kMaxAtOnce = kMaxGroupsAtOnce * RowSelectorCode::kVectorsPerChunk;
  static constexpr std::int64_t kPassingBytes = kMinimaBytes + kVectorSpare * static_cast<std::int64_t>(sizeof(Key));
  /// With more elements found than this, sorting them for a better limit takes less time than finding as many again.
  static constexpr std::int64_t many_found(std::int64_t k) { return 2 * k + 128; }
  /// The room for elements found.
  static constexpr std::int64_t max_found(std::int64_t k) { return many_found(k) + kMaxAtOnce + kVectorSpare; }
  static_assert(kMaxAtOnce >= kPiece);

  struct Memory {
    Key* minima;   // kMinimaBytes: of the block's groups
    Key* groups;   // kMinimaBytes: of groups joined, or which groups and elements of chunks are up to the limit
    Key* other;    // kMinimaBytes: keys while they are sorted, or steps to chunks
    Key* passing;  // kPassingBytes: the numbers of groups or of their chunks, or elements of a sample
    Key* found;    // max_found() of the greatest k
  };

  /// How the caller's elements compare beyond their keys.
  struct Order {
    /// The keys that are equal to `key` in the order of the sort.
    std::function<KeyRun<Key>(Key key)> run_of;
    /// Leaves the first k of the elements found, and returns the key of the k-th.
    std::function<Key(Key* found, std::int64_t num_found)> reduce;
  };

  RowSelector(const void* entry, const RowSelectorCode& code, const RowSorterCode& sorter,
              const RowSorterMemory& sorter_memory, const Memory& memory, Order order)
      : entry_(entry), code_(code), sorter_(entry, sorter, sorter_memory), memory_(memory), order_(std::move(order)) {}

  /// Finds the elements of a row, and writes their numbers. Returns how many there are: at least k.
  std::int64_t select(const RowReader& row, std::int64_t n, std::int64_t k);

  /// The elements that all calls read, as a measure of work.
  std::int64_t elements_read() const { return elements_read_; }

 private:
  template <class Function>
  Function at(Microkernel<Function> microkernel) const {
    return microkernel.at(entry_);
  }
  void start(std::int64_t k);
  std::int64_t select_by_groups(const RowReader& row, std::int64_t n);
  void find_in_blocks(const RowReader& row, std::int64_t n);
  /// The same for elements in memory and a limit that few groups are likely to reach: those are found while the row is
  /// read.
  void find_in_long_row(const RowReader& row, std::int64_t n);
  std::int64_t select_by_sample(const RowReader& row, std::int64_t n);
  /// Writes the minima of groups of elements from places all over the row, and returns how many there are.
  std::int64_t sample(const RowReader& row, std::int64_t n, std::int64_t num_vectors);
  /// A bound for the groups of a sample that have one of the first k. One row in a thousand exceeds it.
  std::int64_t wanted_of_sample(std::int64_t num_groups, std::int64_t n) const;
  /// Whole chunks. Their vectors follow each other in memory; or they are columns: where a row of elements ascends, the
  /// first ones are in other columns, each of which has few of them.
  struct Block {
    std::int64_t start = 0;
    std::int64_t num_chunks = 0;
    std::int64_t chunk_step = 0, vector_step = 0;  // vectors from a chunk to the next, and from a chunk's to its next
    bool has_columns = false;
  };
  Block block_at(std::int64_t start, std::int64_t count, bool has_columns) const;
  /// Writes the minima of a block's groups.
  void find_minima(const RowReader& row, const Block& block);
  void set_limit(Key key);
  void exclude_run();
  /// Sets a limit by the block's groups if that is better than what there is.
  void tighten(std::int64_t num_groups);
  /// Lists a block's chunks that have a group with a key up to the limit, given the minima of its groups, and returns
  /// how many.
  std::int64_t find_passing(const Block& block);
  /// How many groups those have.
  std::int64_t count_passing_groups(const Block& block) const;
  /// Finds the elements of a block's chunks, given the minima of its groups. The limit is tight if it is made of these.
  void find_in_block(const RowReader& row, const Block& block, bool is_tight);
  /// Finds the elements of the chunks passing, all before the limit changes. Those before element `first` are found
  /// already. Returns false, and finds nothing, if there is no limit or no room for them.
  bool find_at_once(const RowReader& row, const Block& block, std::int64_t num_passing, std::int64_t first);
  /// Finds the elements of a block of columns that has many groups passing.
  void find_in_columns(const RowReader& row, const Block& block);
  /// Appends the elements of the chunks passing, but those before element `first`. False if the chunks have more than
  /// `max` up to the limit, and then none is appended.
  bool append_passing(const RowReader& row, const Block& block, std::int64_t num_passing, std::int64_t first,
                      std::int64_t max);
  /// The same with kBits for a vector.
  template <int kBits>
  bool append_chunks(const RowReader& row, const Block& block, std::int64_t num_chunks, std::int64_t first,
                     std::int64_t max);
  /// Writes the steps to chunks for match_elements, and returns what they begin from. Computed chunks follow each
  /// other.
  const std::byte* make_steps(const RowReader& row, const Block& block, const Key* chunks, std::int64_t num_chunks);
  /// Replaces the numbers of groups passing by those of their chunks, and returns how many these are.
  std::int64_t join_groups(std::int64_t num_groups);
  void find_elements(const RowReader& row, std::int64_t first, std::int64_t count, Microkernel<FilterKeys> filter);
  Key* end_of_found() const { return memory_.found + num_found_; }
  /// Counts what was written behind the elements found, up to their new end.
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
  KeyRun<Key> run_{};              // of the key that the limit was set to
  Key limit_ = 0;                  // keys beyond it are not taken
  bool has_limit_ = false;
  bool excludes_run_ = false;  // the limit is before the run
  bool is_complete_ = false;   // nothing comes before the run
};

extern template class RowSelector<std::int32_t>;
extern template class RowSelector<std::int64_t>;

}  // namespace millrace
