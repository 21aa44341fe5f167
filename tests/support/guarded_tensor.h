// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/loop_kernel.h"
#include "tests/reference/tensor.h"
#include "tests/support/guarded_buffer.h"

namespace millrace::test {

enum class Strides : std::uint8_t {
  kDense,   // row-major
  kPadded,  // an offset, and room between rows
  kSpread,  // room between any two elements
};

/// A layout of the given kind; still in row-major order.
Layout make_layout(const Shape& shape, Strides strides);

/// A tensor argument in guarded memory, laid out as the kernel expects it.
class GuardedTensor {
 public:
  GuardedTensor(const KernelTensor& tensor, GuardedBuffer::Guard guard);

  /// Elements in row-major order; the rest stays untouched. Then the memory is read-only.
  void fill(const reference::Tensor& values);
  reference::Tensor read() const;
  /// Whether nothing was written between elements or around them.
  bool is_rest_intact() const;
  BufferBinding binding() const { return buffer_.binding(); }
  std::span<const std::byte> bytes() const { return buffer_.bytes(); }

 private:
  TensorType type_;
  reference::Extents extents_;
  reference::Extents strides_;
  std::int64_t offset_;
  GuardedBuffer buffer_;
};

}  // namespace millrace::test
