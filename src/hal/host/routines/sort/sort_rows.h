// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "hal/host/routines/row_loader.h"
#include "hal/host/routines/sort/column_block.h"
#include "hal/host/routines/sort/counting_sort.h"
#include "hal/host/routines/sort/row_sorter.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {

/// The tensors of a sort. Each has an offset and strides among the size arguments.
enum class SortTensor : std::uint8_t { kInput, kValues, kIndices };
inline constexpr std::size_t kNumSortTensors = 3;

/// The size arguments, in elements: n, k, the number of RowParts per row, the offset and the stride along the axis of
/// each SortTensor, and then per other dim, outermost first, its extent and the stride of each SortTensor. Absent
/// tensors have zeros.
struct SortRowsSizes {
  static constexpr std::size_t kN = 0, kK = 1, kParts = 2, kOffsets = 3, kAxisStrides = 6, kDims = 9;
  static constexpr std::size_t kPerDim = 1 + kNumSortTensors;
};

/// The RoutineCall::parameters of a sort, all i64.
struct SortRowsParameters {
  std::int64_t element_bytes, key_bytes, num_other_dims;
  std::int64_t has_values, has_indices, is_descending;
  std::int64_t has_input_indices;   // in buffer 1, laid out like the input
  std::int64_t keys_have_index;     // whether keys have an index in their lower half
  std::int64_t keys_are_truncated;  // 64-bit elements with an index: keys hold the upper half of an element's key
  /// If the keys of a row need at most max_workgroup_key_bytes, they are in workgroup memory, after kFixedBytes and the
  /// ColumnBlock; otherwise they are in the last buffer, which is then scratch. In both cases a row has room for twice
  /// max_keys keys, or for twice all of its keys if it is too long for a CountingSort.
  std::int64_t max_workgroup_key_bytes, uses_scratch, max_keys;
  /// For floats, the mask of the bits except the sign, and the bits of infinity; otherwise 0.
  std::int64_t magnitude_bits, infinity_bits;
  std::int64_t is_bool;           // any byte other than 0 is true
  std::int64_t inverted_bits;     // bits that are inverted before an element is compared as a signed integer
  std::int64_t num_pattern_runs;  // 0 if elements are not counted
  PatternRun pattern_runs[kMaxPatternRuns];
  std::int64_t counts_bytes;  // whether `byte_counter` is present
  ByteCounterCode byte_counter;
  /// Whether rows are sorted in registers, which needs a known row length: by sort_values if keys have no index,
  /// otherwise by sort_indices.
  std::int64_t sorts_in_registers;
  Microkernel<SortValues> sort_values;
  Microkernel<SortIndices> sort_indices;
  Microkernel<PartitionElements> partition_elements;  // offset 0: absent
  Microkernel<MakeKeys> make_keys;
  Microkernel<WriteFromKeys> write_values, write_indices;
  RowSorterCode sorter;
  /// Whether each part is written as soon as it is sorted, by `writer`. There is then a single, contiguous result.
  std::int64_t writes_sorted;
  SortedWriter writer;
  Microkernel<TakeRun> take_zeros, take_nans;  // of floats, for keys without an index
  /// Workgroup memory for a ColumnBlock, and its functions; 0 bytes if rows stay where they are.
  std::int64_t columns_offset, columns_bytes;
  TileCode element_tiles, index_tiles;
  std::int64_t moves_results;  // whether results are in the block too, not only the input
  RowLoadParameters load;

  static constexpr std::int64_t kFixedBytes = RowSorterMemory::kSampleBytes + RowSorterMemory::kCountBytes;
};

}  // namespace millrace
