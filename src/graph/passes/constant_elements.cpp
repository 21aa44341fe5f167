// SPDX-License-Identifier: Apache-2.0
// Loads and stores single elements of constants while a pass computes them on the host.
#include "graph/passes/constant_elements.h"

#include <cstring>

namespace millrace {

Scalar load_element(DType dtype, std::span<const std::byte> data, std::size_t index) {
  const Scalar scalar = load_scalar(dtype, data.data() + index * size_bytes(dtype));
  const auto half = static_cast<std::uint16_t>(scalar.bits);
  if (dtype == DType::kF16) return Scalar::of(static_cast<float>(Half::from_bits(half)));
  if (dtype == DType::kBF16) return Scalar::of(static_cast<float>(BFloat16::from_bits(half)));
  return scalar;
}

void store_element(DType dtype, std::vector<std::byte>& data, std::size_t index, Scalar value) {
  if (value.dtype == DType::kF32 && dtype == DType::kF16) value.bits = Half(value.as<float>()).bits;
  if (value.dtype == DType::kF32 && dtype == DType::kBF16) value.bits = BFloat16(value.as<float>()).bits;
  std::memcpy(data.data() + index * size_bytes(dtype), &value.bits, size_bytes(dtype));
}

}  // namespace millrace
