// SPDX-License-Identifier: Apache-2.0
// Address arithmetic for the rows of a tensor along one axis.
#include "jit/algorithms/rows.h"

#include "jit/ir/linear_value.h"

namespace millrace {

SizeExpr num_rows(const Shape& shape, std::uint32_t axis) {
  SizeExpr rows = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d != axis) rows = rows * shape[d];
  }
  return rows;
}

MachineValue row_start(MachineBuilder& b, const KernelTensor& tensor, std::uint32_t axis, MachineValue row) {
  struct RowDim {
    SizeExpr extent, stride;
  };
  std::vector<RowDim> dims;  // outermost first
  const Shape& shape = tensor.type.shape;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d == axis || shape[d].is(1)) continue;
    const SizeExpr& stride = tensor.layout.strides[d];
    if (!dims.empty() && dims.back().stride == stride * shape[d]) {
      dims.back() = {dims.back().extent * shape[d], stride};
    } else {
      dims.push_back({shape[d], stride});
    }
  }
  LinearValue offset = LinearValue::of_size(b, tensor.layout.offset);
  for (std::size_t i = dims.size(); i-- > 0;) {
    MachineValue place = row;
    if (i > 0) {
      const MachineValue extent = b.size(dims[i].extent);
      place = b.rem(row, extent);
      row = b.div(row, extent);
    }
    offset = offset.plus(b, LinearValue(place), dims[i].stride);
  }
  return offset.value(b);
}

MachineValue row_element(MachineBuilder& b, const KernelTensor& tensor, std::uint32_t axis, MachineValue start,
                         MachineValue position) {
  return LinearValue(start).plus(b, LinearValue(position), tensor.layout.strides[axis]).value(b);
}

}  // namespace millrace
