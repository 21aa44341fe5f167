// SPDX-License-Identifier: Apache-2.0
// Every 16-bit pattern, and the places between them, against conversions written with ldexp and nearbyint.
#include "millrace/base/float16.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

struct Format {
  int fraction_bits;
  int exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  unsigned infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
  long double largest() const { return std::ldexp(2 - std::ldexp(1.0L, -fraction_bits), bias()); }
};
constexpr Format kF16{10, 5};
constexpr Format kBF16{7, 8};

bool is_nan(std::uint16_t bits, Format format) { return (bits & 0x7fffu) > format.infinity(); }

long double reference_value(std::uint16_t bits, Format format) {
  const long double sign = bits >> 15 != 0 ? -1 : 1;
  const int exponent = (bits & 0x7fff) >> format.fraction_bits;
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  if (exponent == (1 << format.exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<long double>::quiet_NaN()
                         : sign * std::numeric_limits<long double>::infinity();
  }
  if (exponent == 0)
    return sign * std::ldexp(static_cast<long double>(fraction), 1 - format.bias() - format.fraction_bits);
  return sign * std::ldexp(static_cast<long double>(fraction + (1 << format.fraction_bits)),
                           exponent - format.bias() - format.fraction_bits);
}

/// The value of `x` rounded to the format, to nearest, ties to even: the rounding mode that nearbyint is in.
long double reference_round(long double x, Format format) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), 1 - format.bias());
  const long double step = std::ldexp(1.0L, exponent - format.fraction_bits);
  const long double rounded = std::nearbyint(x / step) * step;
  return std::fabs(rounded) > format.largest() ? std::copysign(std::numeric_limits<long double>::infinity(), x)
                                               : std::copysign(rounded, x);
}

bool same_value(long double a, long double b) { return a == b && std::signbit(a) == std::signbit(b); }

/// Counts failures, because millions of CHECKs would take minutes.
struct Failures {
  int count = 0;
  std::string first = "none";
  void expect(bool condition, auto input) {
    if (!condition && count++ == 0) first = std::to_string(input);
  }
};

template <class T>
void check_all_patterns(Format format) {
  Failures widening;
  Failures round_trip;
  for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const auto value = static_cast<float>(T::from_bits(bits));
    if (is_nan(bits, format)) {
      const unsigned quiet = 1u << (format.fraction_bits - 1);
      widening.expect(std::isnan(value) && std::signbit(value) == (bits >> 15 != 0), pattern);
      round_trip.expect(T(value).bits == (bits | quiet), pattern);
    } else {
      widening.expect(same_value(value, reference_value(bits, format)), pattern);
      round_trip.expect(T(value).bits == bits && T(static_cast<double>(value)).bits == bits, pattern);
    }
  }
  CHECK_MESSAGE(widening.count == 0, "first: " << widening.first);
  CHECK_MESSAGE(round_trip.count == 0, "first: " << round_trip.first);
}

/// Every float whose lower half is one where rounding may change its mind, with every upper half.
template <class T>
void check_narrowing(Format format) {
  const std::uint32_t lower_halves[] = {0,      1,      0x0fff, 0x1000, 0x1001, 0x2000, 0x2fff, 0x3000,
                                        0x3001, 0x7fff, 0x8000, 0x8001, 0xefff, 0xf000, 0xffff};
  Failures failures;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : lower_halves) {
      const std::uint32_t bits = upper << 16 | lower;
      const auto x = std::bit_cast<float>(bits);
      const T narrow(x);
      if (std::isnan(x)) {
        failures.expect(is_nan(narrow.bits, format) && narrow.bits >> 15 == upper >> 15, bits);
      } else {
        failures.expect(same_value(reference_value(narrow.bits, format), reference_round(x, format)), bits);
      }
    }
  }
  CHECK_MESSAGE(failures.count == 0, "first: " << failures.first);
}

/// Checks the midpoints between neighbours, and the doubles next to them: by way of float these would round twice.
template <class T>
void check_ties_of_double(Format format) {
  Failures failures;
  for (unsigned pattern = 0; pattern < format.infinity(); ++pattern) {
    const auto low = static_cast<double>(reference_value(static_cast<std::uint16_t>(pattern), format));
    const double step =
        std::ldexp(1.0, std::max(low == 0 ? -9999 : std::ilogb(low), 1 - format.bias()) - format.fraction_bits);
    const double tie = low + step / 2;
    for (const double x : {tie, std::nextafter(tie, 0.0), std::nextafter(tie, HUGE_VAL)}) {
      for (const double y : {x, -x}) {
        failures.expect(same_value(reference_value(T(y).bits, format), reference_round(y, format)), pattern);
      }
    }
  }
  CHECK_MESSAGE(failures.count == 0, "first: " << failures.first);
}

template <class T, class Integer>
void check_integers(Format format) {
  using Limits = std::numeric_limits<Integer>;
  std::vector<Integer> values = {0, 1, Limits::min(), Limits::max()};
  for (int bit = 1; bit < Limits::digits; ++bit) {
    const auto power = static_cast<Integer>(Integer{1} << bit);
    // Ties of both formats and their neighbours, at the lowest bit that exists.
    for (const int tie : {format.fraction_bits + 1, format.fraction_bits + 2}) {
      const auto half = static_cast<Integer>(bit >= tie ? power >> tie : 0);
      for (const int beside : {-1, 0, 1}) values.push_back(static_cast<Integer>(power + half + beside));
    }
  }
  Failures failures;
  for (const Integer value : values) {
    // long double holds every 64-bit integer.
    const auto exact = static_cast<long double>(value);
    failures.expect(reference_value(T(value).bits, format) == reference_round(exact, format), value);
  }
  CHECK_MESSAGE(failures.count == 0, "first: " << failures.first);
}

}  // namespace

TEST_CASE("every f16 widens to its value and comes back") { check_all_patterns<Half>(kF16); }
TEST_CASE("every bf16 widens to its value and comes back") { check_all_patterns<BFloat16>(kBF16); }
TEST_CASE("f32 to f16 rounds to nearest, ties to even") { check_narrowing<Half>(kF16); }
TEST_CASE("f32 to bf16 rounds to nearest, ties to even") { check_narrowing<BFloat16>(kBF16); }
TEST_CASE("f64 to f16 rounds once") { check_ties_of_double<Half>(kF16); }
TEST_CASE("f64 to bf16 rounds once") { check_ties_of_double<BFloat16>(kBF16); }

TEST_CASE_TEMPLATE("integers round once to 16-bit floats", Integer, std::int8_t, std::uint8_t, std::int16_t,
                   std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  check_integers<Half, Integer>(kF16);
  check_integers<BFloat16, Integer>(kBF16);
}

TEST_CASE("the values at the edges of f16 are those of the standard") {
  CHECK(Half(65504.0f).bits == 0x7bff);
  CHECK(Half(65519.996f).bits == 0x7bff);
  CHECK(Half(65520.0f).bits == 0x7c00);
  CHECK(Half(std::ldexp(1.0f, -24)).bits == 0x0001);
  CHECK(Half(std::ldexp(1.0f, -25)).bits == 0x0000);
  CHECK(Half(std::ldexp(1.5f, -25)).bits == 0x0001);
  CHECK(Half(-0.0f).bits == 0x8000);
  CHECK(Half(true).bits == 0x3c00);
}

TEST_CASE("bf16 keeps subnormals, which processors flush") {
  CHECK(BFloat16(std::bit_cast<float>(0x00010000u)).bits == 0x0001);
  CHECK(BFloat16(std::bit_cast<float>(0x00008001u)).bits == 0x0001);
  CHECK(static_cast<float>(BFloat16::from_bits(0x0001)) == std::bit_cast<float>(0x00010000u));
}

#ifdef __FLT16_MAX__
TEST_CASE("f16 conversions equal the compiler's bit for bit, NaN included") {
  __extension__ typedef _Float16 CompilerHalf;
  Failures widening;
  Failures narrowing;
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const auto wide = static_cast<float>(std::bit_cast<CompilerHalf>(bits));
    widening.expect(
        std::bit_cast<std::uint32_t>(static_cast<float>(Half::from_bits(bits))) == std::bit_cast<std::uint32_t>(wide),
        pattern);
    // A stride through all floats that meets every exponent and many fractions.
    for (std::uint32_t low = pattern % 61; low < 0x10000; low += 509) {
      const auto x = std::bit_cast<float>(pattern << 16 | low);
      narrowing.expect(std::bit_cast<std::uint16_t>(static_cast<CompilerHalf>(x)) == Half(x).bits, pattern << 16 | low);
    }
  }
  CHECK_MESSAGE(widening.count == 0, "first: " << widening.first);
  CHECK_MESSAGE(narrowing.count == 0, "first: " << narrowing.first);
}
#endif

}  // namespace millrace
