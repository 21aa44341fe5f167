// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/numbers.h"

namespace millrace::reference {
namespace {

struct Format {
  int fraction_bits, min_exponent, max_exponent;
};
constexpr Format format_of(DType dtype) { return dtype == DType::kF16 ? Format{10, -14, 15} : Format{7, -126, 127}; }

}  // namespace

double decode_float16(DType dtype, std::uint16_t bits) {
  const Format format = format_of(dtype);
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int exponent = (bits & 0x7fff) >> format.fraction_bits;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 2 * format.max_exponent + 1) {
    return fraction != 0 ? std::copysign(std::numeric_limits<double>::quiet_NaN(), sign)
                         : sign * std::numeric_limits<double>::infinity();
  }
  const double significand = exponent == 0 ? fraction : fraction + (1 << format.fraction_bits);
  const int scale = (exponent == 0 ? 1 : exponent) - format.max_exponent - format.fraction_bits;
  return sign * std::ldexp(significand, scale);
}

std::uint16_t encode_float16(DType dtype, long double value) {
  const Format format = format_of(dtype);
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const auto infinity = static_cast<std::uint16_t>((2 * format.max_exponent + 1) << format.fraction_bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | (1 << (format.fraction_bits - 1)));
  const long double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < format.min_exponent) exponent = format.min_exponent;
  // Steps of the format at this magnitude; nearbyint rounds ties to even.
  const auto steps = static_cast<long>(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
  const long hidden = 1L << format.fraction_bits;
  // A carry into the next binade is right: steps == 2 * hidden is the next exponent with fraction 0.
  const long biased = exponent + format.max_exponent;
  const long encoded = steps < hidden ? steps : ((biased - 1) << format.fraction_bits) + steps;
  return static_cast<std::uint16_t>(sign | (encoded < infinity ? encoded : infinity));
}

}  // namespace millrace::reference
