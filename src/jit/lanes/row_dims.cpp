// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/row_dims.h"

#include <algorithm>

#include "hal/host/routines/column_block.h"

namespace millrace {
namespace {

/// Whether the outer dim's rows follow those of the inner one.
bool is_one(const RowDim& outer, const RowDim& inner) {
  for (std::size_t i = 0; i < kNumSortTensors; ++i) {
    if (outer.strides[i] != inner.strides[i] * inner.extent) return false;
  }
  return true;
}

constexpr std::int64_t kAlignment = 64;  // of what stands behind the block

/// The bytes from row to row.
std::int64_t pitch_of(std::int64_t length, DType dtype) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // so that sums do not wrap
  return ColumnBlock::pitch_bytes(std::min(length, kMost), static_cast<std::int64_t>(size_bytes(dtype)));
}

}  // namespace

std::array<const KernelTensor*, kNumSortTensors> tensors_of(const SortDescriptor& sort) {
  return {&sort.input, sort.values ? &*sort.values : nullptr, sort.indices ? &*sort.indices : nullptr};
}

std::vector<RowDim> row_dims(const SortDescriptor& sort) {
  const Shape& shape = sort.input.type.shape;
  const auto tensors = tensors_of(sort);
  std::vector<RowDim> dims;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d == sort.axis || shape[d].is(1)) continue;
    RowDim dim = {shape[d], {}};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      dim.strides[i] = tensors[i] != nullptr ? tensors[i]->layout.strides[d] : SizeExpr(0);
    }
    if (!dims.empty() && is_one(dims.back(), dim)) {
      dim.extent = dims.back().extent * dim.extent;
      dims.pop_back();
    }
    dims.push_back(std::move(dim));
  }
  return dims;
}

std::int64_t column_block_bytes(const SortDescriptor& sort, bool moves_results, std::int64_t most) {
  const auto tensors = tensors_of(sort);
  std::int64_t least_bytes = 0, most_bytes = 0;  // of one row of each tensor
  for (std::size_t i = 0; i < (moves_results ? tensors.size() : 1); ++i) {
    if (tensors[i] == nullptr || tensors[i]->layout.strides[sort.axis].is(1)) continue;
    const SizeExpr& length = tensors[i]->type.shape[sort.axis];
    least_bytes += pitch_of(length.lower_bound(), tensors[i]->type.dtype);
    most_bytes += pitch_of(length.upper_bound(), tensors[i]->type.dtype);
  }
  if (least_bytes > most) return 0;
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(sort.input.type.dtype));
  return std::min(most / kAlignment * kAlignment, most_bytes * ColumnBlock::most_columns(element_bytes));
}

}  // namespace millrace
