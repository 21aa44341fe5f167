// SPDX-License-Identifier: Apache-2.0
#include "tools/millrace/generate.h"

#include <cmath>
#include <cstring>
#include <random>

#include "millrace/jit/scalar.h"

namespace millrace::tool {
namespace {

Scalar element(std::string_view kind, DType dtype, std::size_t position, std::mt19937_64& random) {
  if (kind == "zeros") return Scalar::from_int(dtype, 0);
  if (kind == "ones") return Scalar::from_int(dtype, 1);
  if (kind == "arange") return Scalar::from_int(dtype, static_cast<std::int64_t>(position));
  const double value = std::normal_distribution<double>()(random);
  if (dtype == DType::kBool) return Scalar::of(value > 0);
  return Scalar::from_double(dtype, is_float(dtype) ? value : std::round(value));
}

}  // namespace

void generate_elements(std::string_view kind, DType dtype, std::uint64_t seed, std::span<std::byte> bytes) {
  std::mt19937_64 random(seed);
  const std::size_t size = size_bytes(dtype);
  for (std::size_t i = 0; i * size < bytes.size(); ++i) {
    const Scalar value = element(kind, dtype, i, random);
    std::memcpy(bytes.data() + i * size, &value.bits, size);
  }
}

}  // namespace millrace::tool
