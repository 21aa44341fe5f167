// SPDX-License-Identifier: Apache-2.0
#include "tests/support/guarded_tensor.h"

#include <algorithm>
#include <cstring>

namespace millrace::test {
namespace {

reference::Extents constants(const std::vector<SizeExpr>& sizes) {
  reference::Extents values;
  for (const SizeExpr& size : sizes) values.push_back(size.constant());
  return values;
}

std::size_t buffer_bytes(const KernelTensor& tensor) {
  return static_cast<std::size_t>(extent_elements(tensor.type.shape, tensor.layout).constant()) *
         size_bytes(tensor.type.dtype);
}

}  // namespace

Layout make_layout(const Shape& shape, Strides strides) {
  if (strides == Strides::kDense) return Layout::row_major(shape);
  Layout layout;
  layout.offset = 5;
  layout.strides.resize(shape.rank());
  SizeExpr stride = strides == Strides::kSpread ? 2 : 1;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    layout.strides[d] = stride;
    stride = stride * shape[d] + 3;
  }
  return layout;
}

GuardedTensor::GuardedTensor(const KernelTensor& tensor, GuardedBuffer::Guard guard)
    : type_(tensor.type),
      extents_(constants(tensor.type.shape.dims())),
      strides_(constants(tensor.layout.strides)),
      offset_(tensor.layout.offset.constant()),
      buffer_(buffer_bytes(tensor), guard) {}

void GuardedTensor::fill(const reference::Tensor& values) {
  MILLRACE_CHECK(values.num_elements() == reference::count(extents_));
  const std::size_t bytes = size_bytes(type_.dtype);
  std::int64_t i = 0;
  reference::for_each_index(extents_, [&](const reference::Extents& index) {
    const auto at = static_cast<std::size_t>(offset_ + reference::offset_of(index, strides_)) * bytes;
    std::memcpy(buffer_.data() + at, values.element(i++), bytes);
  });
  buffer_.make_read_only();
}

reference::Tensor GuardedTensor::read() const {
  reference::Tensor values(type_);
  const std::size_t bytes = size_bytes(type_.dtype);
  std::int64_t i = 0;
  reference::for_each_index(extents_, [&](const reference::Extents& index) {
    const auto at = static_cast<std::size_t>(offset_ + reference::offset_of(index, strides_)) * bytes;
    std::memcpy(values.element(i++), buffer_.data() + at, bytes);
  });
  return values;
}

bool GuardedTensor::is_rest_intact() const {
  const std::size_t bytes = size_bytes(type_.dtype);
  std::vector<std::byte> rest(buffer_.bytes().begin(), buffer_.bytes().end());
  reference::for_each_index(extents_, [&](const reference::Extents& index) {
    const auto at = static_cast<std::size_t>(offset_ + reference::offset_of(index, strides_)) * bytes;
    std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(at), bytes, kUntouched);
  });
  return buffer_.is_slack_intact() &&
         std::all_of(rest.begin(), rest.end(), [](std::byte value) { return value == kUntouched; });
}

}  // namespace millrace::test
