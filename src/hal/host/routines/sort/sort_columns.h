// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hal/host/routines/sort/column_block.h"
#include "hal/host/routines/sort/sort_rows.h"

// Finds the tensors of a sort whose rows interleave in memory, like the columns of a matrix.
namespace millrace {

/// The bytes of an element of the tensor.
inline std::int64_t element_bytes_of(const SortRowsParameters& p, std::size_t tensor) {
  const bool is_index = tensor == static_cast<std::size_t>(SortTensor::kIndices);
  return is_index ? static_cast<std::int64_t>(sizeof(std::int64_t)) : p.element_bytes;
}

/// The innermost dim that indexes rows: its extent, and each tensor's stride.
inline const std::int64_t* columns_dim(const SortRowsParameters& p, const KernelArgs& args) {
  return args.sizes + SortRowsSizes::kDims + (p.num_other_dims - 1) * std::int64_t{SortRowsSizes::kPerDim};
}

/// The tensors that a ColumnBlock moves.
inline ColumnBlock::Tensors column_tensors(const void* code, const SortRowsParameters& p, const KernelArgs& args) {
  // A selection writes only a few results, so it writes them directly, not through the block.
  const bool is_moved[] = {true, p.moves_results != 0 && p.has_values != 0, p.moves_results != 0 && p.has_indices != 0};
  ColumnBlock::Tensors tensors;
  for (std::size_t tensor = 0; tensor < kNumSortTensors; ++tensor) {
    if (!is_moved[tensor]) continue;
    const TileCode& tiles = tensor == static_cast<std::size_t>(SortTensor::kIndices) ? p.index_tiles : p.element_tiles;
    tensors[tensor] = {.element_bytes = element_bytes_of(p, tensor),
                       .length = args.sizes[tensor == 0 ? SortRowsSizes::kN : SortRowsSizes::kK],
                       .axis_stride = args.sizes[SortRowsSizes::kAxisStrides + tensor],
                       .column_stride = p.num_other_dims == 0 ? 1 : columns_dim(p, args)[1 + tensor],
                       .transpose = tiles.transpose.at(code),
                       .tile = tiles.side};
  }
  return tensors;
}

}  // namespace millrace
