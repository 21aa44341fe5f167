// SPDX-License-Identifier: Apache-2.0
// Conversions of 16-bit floats, against base's Half and BFloat16, which their own tests compare with a plain reference,
// and against rationals.
#include "millrace/jit/float16_bodies.h"

#include <cmath>
#include <random>

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::uint16_t narrowed(Scalar value, DType stored) {
  HostEval b;
  return narrow_to_stored(b, value, stored).as<std::uint16_t>();
}

bool is_nan16(std::uint16_t bits, DType stored) { return (bits & 0x7fff) > (stored == DType::kF16 ? 0x7c00 : 0x7f80); }

TEST_CASE("every stored pattern widens to its value and narrows back") {
  HostEval b;
  int wrong = 0;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    for (DType stored : {DType::kF16, DType::kBF16}) {
      const float expected = stored == DType::kF16 ? static_cast<float>(Half::from_bits(bits))
                                                   : static_cast<float>(BFloat16::from_bits(bits));
      const Scalar wide = widen_stored(b, Scalar::of(bits), stored);
      const bool same = wide == Scalar::of(expected);  // bit for bit, for NaNs too
      const std::uint16_t back = narrowed(wide, stored);
      wrong +=
          same && (back == bits || is_nan16(bits, stored)) && is_nan16(back, stored) == is_nan16(bits, stored) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("f32 narrows to the nearest, ties to even") {
  std::mt19937 random(3);
  int wrong = 0;
  for (int i = 0; i < 400000; ++i) {
    const Scalar value = Scalar{DType::kF32, i < 65536 ? static_cast<std::uint32_t>(i) << 16 : random()};
    const float f = value.as<float>();
    const std::uint16_t half = narrowed(value, DType::kF16), brain = narrowed(value, DType::kBF16);
    wrong += half == Half(f).bits ? 0 : 1;
    wrong += brain == BFloat16(f).bits ? 0 : 1;
  }
  CHECK(wrong == 0);
}

/// The nearest of two neighbouring 16-bit values, by exact comparison in long double; ties to the even one.
bool is_nearest(long double value, std::uint16_t bits, DType stored) {
  const auto at = [&](int step) -> long double {
    const auto neighbour = static_cast<std::uint16_t>(bits + step);
    return stored == DType::kF16 ? static_cast<float>(Half::from_bits(neighbour))
                                 : static_cast<float>(BFloat16::from_bits(neighbour));
  };
  const long double error = std::fabs(at(0) - value);
  for (int step : {-1, 1}) {
    if ((bits & 0x7fff) == 0 && step < 0) continue;
    const long double other = std::fabs(at(step) - value);
    if (other < error || (other == error && (bits & 1) != 0)) return false;
  }
  return true;
}

TEST_CASE("f64 and 64-bit integers round once") {
  std::mt19937_64 random(4);
  int wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    // Next to the middle of two 16-bit values, where rounding twice goes wrong.
    const float low = static_cast<float>(
        BFloat16(std::ldexp(1.0f + static_cast<float>(random() % 128) / 128, static_cast<int>(random() % 20))));
    const float high = static_cast<float>(BFloat16::from_bits(static_cast<std::uint16_t>(BFloat16(low).bits + 1)));
    const double middle = (static_cast<double>(low) + high) / 2;
    const double near = std::nextafter(middle, random() % 2 == 0 ? 0 : 1e9);
    wrong += is_nearest(near, narrowed(Scalar::of(near), DType::kBF16), DType::kBF16) ? 0 : 1;
    const auto large = static_cast<std::int64_t>(middle * 0x1p40) + static_cast<std::int64_t>(random() % 3) - 1;
    wrong += is_nearest(large, narrowed(Scalar::of(large), DType::kBF16), DType::kBF16) ? 0 : 1;
    wrong += is_nearest(-large, narrowed(Scalar::of(-large), DType::kBF16), DType::kBF16) ? 0 : 1;
    const double small = std::ldexp(middle, -20);
    const double small_near = std::nextafter(small, random() % 2 == 0 ? 0 : 1e9);
    wrong += is_nearest(small_near, narrowed(Scalar::of(small_near), DType::kF16), DType::kF16) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace millrace
