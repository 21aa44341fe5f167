// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/number.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "base/text/number.h"

namespace millrace {
namespace {

constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();

Result<Number> reread(const Number& number) {
  const std::string text = number.to_text();
  TextReader reader("n", text);
  MILLRACE_TRY_ASSIGN(const Number found, read_any_number(reader));
  if (!reader.at_end()) return reader.unexpected("expected the end");
  return found;
}

TEST_CASE("a number keeps every integer of 64 bits and every double, and text gives it back") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = random() >> random() % 64;
    const auto integer = static_cast<std::int64_t>(bits);
    const auto real = std::bit_cast<double>(random());
    CHECK(Number(bits).as_u64() == bits);
    CHECK(Number(integer).as_i64() == integer);
    CHECK(std::bit_cast<std::uint64_t>(Number(real).as_double()) == std::bit_cast<std::uint64_t>(real));
    for (const Number& number :
         {Number(bits), Number(integer), Number(-integer), Number(real),
          Number(std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 24)))}) {
      const Result<Number> again = reread(number);
      CHECK_MESSAGE((again.ok() && *again == number), number.to_text());
    }
  }
}

TEST_CASE("an integer is one number, however it is given") {
  CHECK(Number(4.0) == Number(4));
  CHECK(Number(std::uint8_t{4}) == Number(4));
  CHECK(Number(-0x1p63) == Number(kMin64));
  CHECK(Number(0x1p63) == Number(std::uint64_t{1} << 63));
  CHECK(Number(true) == Number(1));
  CHECK(!Number(0x1p64).is_integer());
  CHECK(!Number(-0.0).is_integer());
  CHECK(Number(-0.0) != Number(0));
  CHECK(Number(NAN) == Number(NAN));
  CHECK(Number(kMaxU64).to_text() == "18446744073709551615");
  CHECK(Number(-0.0).to_text() == "-0");
  CHECK(Number(1e300).to_text() == "1e+300");
}

TEST_CASE("an integer dtype takes only the integers of its range") {
  CHECK(Number(127).fits(DType::kI8));
  CHECK(!Number(128).fits(DType::kI8));
  CHECK(!Number(-1).fits(DType::kU64));
  CHECK(Number(kMaxU64).fits(DType::kU64));
  CHECK(!Number(std::uint64_t{1} << 63).fits(DType::kI64));
  CHECK(Number(kMax64).fits(DType::kI64));
  CHECK(Number(1).fits(DType::kBool));
  CHECK(!Number(2).fits(DType::kBool));
  CHECK(!Number(-1).fits(DType::kBool));
  for (const double value : {0.5, -0.0, 1e19 * 2, -1e19, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    for (const DType dtype : kAllDTypes) CHECK(Number(value).fits(dtype) == is_float(dtype));
  }
}

}  // namespace
}  // namespace millrace
