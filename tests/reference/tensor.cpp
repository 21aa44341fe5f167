// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/tensor.h"

namespace millrace::reference {
namespace {

TensorType make_type(DType dtype, const Extents& extents) {
  return {dtype, Shape(std::vector<SizeExpr>(extents.begin(), extents.end()))};
}

}  // namespace

Tensor::Tensor(TensorType tensor_type) : type(std::move(tensor_type)) {
  bytes.resize(static_cast<std::size_t>(count(extents())) * size_bytes(type.dtype));
}

Tensor::Tensor(DType dtype, const Extents& extents) : Tensor(make_type(dtype, extents)) {}

Extents Tensor::extents() const {
  Extents extents;
  for (const SizeExpr& dim : type.shape.dims()) extents.push_back(dim.constant());
  return extents;
}

std::int64_t count(const Extents& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

Extents row_major_strides(const Extents& extents) {
  Extents strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= extents[d];
  }
  return strides;
}

std::int64_t offset_of(const Extents& index, const Extents& strides) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

}  // namespace millrace::reference
