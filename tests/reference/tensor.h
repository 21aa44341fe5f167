// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/base/shape.h"
#include "tests/reference/numbers.h"

namespace millrace::reference {

using Extents = std::vector<std::int64_t>;

/// A value of static shape, row-major.
struct Tensor {
  TensorType type;
  std::vector<std::byte> bytes;

  Tensor() = default;
  /// Zeros.
  explicit Tensor(TensorType tensor_type);
  Tensor(DType dtype, const Extents& extents);

  Extents extents() const;
  std::int64_t num_elements() const { return static_cast<std::int64_t>(bytes.size() / size_bytes(type.dtype)); }
  std::byte* element(std::int64_t i) { return bytes.data() + static_cast<std::size_t>(i) * size_bytes(type.dtype); }
  const std::byte* element(std::int64_t i) const {
    return bytes.data() + static_cast<std::size_t>(i) * size_bytes(type.dtype);
  }
};

std::int64_t count(const Extents& extents);
Extents row_major_strides(const Extents& extents);
std::int64_t offset_of(const Extents& index, const Extents& strides);

/// Calls f(index) for every index in row-major order; once for rank 0.
template <class F>
void for_each_index(const Extents& extents, F&& f) {
  const std::int64_t total = count(extents);
  Extents index(extents.size(), 0);
  for (std::int64_t n = 0; n < total; ++n) {
    f(static_cast<const Extents&>(index));
    for (std::size_t d = extents.size(); d-- > 0;) {
      if (++index[d] < extents[d]) break;
      index[d] = 0;
    }
  }
}

template <class W>
std::vector<W> read_all(const Tensor& tensor) {
  std::vector<W> values(static_cast<std::size_t>(tensor.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = read_element<W>(tensor.type.dtype, tensor.element(static_cast<std::int64_t>(i)));
  }
  return values;
}

template <class W>
Tensor make_tensor(DType dtype, const Extents& extents, const std::vector<W>& values) {
  Tensor tensor(dtype, extents);
  for (std::size_t i = 0; i < values.size(); ++i) {
    write_element(dtype, values[i], tensor.element(static_cast<std::int64_t>(i)));
  }
  return tensor;
}

/// An axis counted from the front.
inline std::size_t from_front(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace millrace::reference
