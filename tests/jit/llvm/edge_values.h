// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "millrace/jit/scalar.h"

namespace millrace {

/// Values around which operations on `dtype` behave differently.
inline std::vector<Scalar> edge_values(DType dtype) {
  std::vector<Scalar> values;
  if (dtype == DType::kBool) return {{dtype, 0}, {dtype, 1}};
  if (is_integer(dtype)) {
    const auto width = static_cast<int>(size_bytes(dtype) * 8);
    for (const std::int64_t value : {0, 1, 2, 3, 7, 10, 31, 32, 33, 63, 64, 100, -1, -2, -3, -7, -100}) {
      values.push_back(Scalar::from_int(dtype, value));
    }
    for (const int shift : {width - 1, width - 2, width / 2}) {
      for (const int delta : {-1, 0, 1}) {
        values.push_back(
            Scalar::from_int(dtype, static_cast<std::int64_t>((1ull << shift) + static_cast<unsigned>(delta))));
      }
    }
    return values;
  }
  const bool is_single = dtype == DType::kF32;
  std::vector<double> numbers = {0,       0.5,           1,         1.5,           2,
                                 2.5,     0.49999997,    3,         100.25,        127.5,
                                 128,     128.5,         255.9,     256,           32768,
                                 65535.5, 65536,         0x1p31,    0x1p31 - 128,  0x1p31 - 0.5,
                                 0x1p32,  0x1p32 - 256,  0x1p63,    0x1.fffffep62, 0x1.fffffffffffffp62,
                                 0x1p64,  0x1.fffffep63, 8388607.5, 8388609,       0x1.fffffffffffffp51,
                                 0x1p53,  1e30,          1.0 / 3};
  using Single = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  numbers.insert(numbers.end(),
                 {Double::infinity(), Double::quiet_NaN(), is_single ? Single::max() : Double::max(),
                  is_single ? Single::min() : Double::min(), is_single ? Single::denorm_min() : Double::denorm_min(),
                  is_single ? Single::min() / 2 : Double::min() / 2});
  for (const double number : numbers) {
    for (const double sign : {1.0, -1.0}) values.push_back(Scalar::from_double(dtype, sign * number));
  }
  return values;
}

/// Any bits, or for a bool 0 or 1; floats of every size, small ones often.
inline Scalar random_value(DType dtype, std::mt19937_64& random) {
  if (dtype == DType::kBool) return {dtype, random() & 1};
  if (is_float(dtype) && random() % 2 == 0) {
    return Scalar::from_double(dtype, (static_cast<double>(random() % 20000) - 10000) / 64);
  }
  const std::size_t bits = size_bytes(dtype) * 8;
  return {dtype, bits == 64 ? random() : random() & ((1ull << bits) - 1)};
}

inline void put(std::vector<std::byte>& bytes, const Scalar& value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + size_bytes(value.dtype));
  std::memcpy(bytes.data() + at, &value.bits, size_bytes(value.dtype));
}

}  // namespace millrace
