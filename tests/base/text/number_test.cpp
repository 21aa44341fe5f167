// SPDX-License-Identifier: Apache-2.0
#include "base/text/number.h"

#include <bit>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

namespace millrace {
namespace {

template <class T>
T reread(const std::string& text) {
  TextReader reader("t", text);
  Result<T> value = read_number<T>(reader);
  REQUIRE_MESSAGE(value.ok(), value.status().message());
  CHECK(reader.at_end());
  return *value;
}

template <class T>
void expect_exact(T value) {
  const std::string text = number_text(value);
  const T again = reread<T>(text);
  CHECK_MESSAGE(std::memcmp(&value, &again, sizeof value) == 0, text);
}

template <class T>
std::string error(std::string_view text) {
  TextReader reader("t", text);
  return read_number<T>(reader).status().message();
}

TEST_CASE("every 16-bit float comes back bit for bit, NaNs with their payloads") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    expect_exact(Half::from_bits(static_cast<std::uint16_t>(bits)));
    expect_exact(BFloat16::from_bits(static_cast<std::uint16_t>(bits)));
  }
}

TEST_CASE("wider floats come back bit for bit") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    expect_exact(std::bit_cast<double>(random()));
    expect_exact(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    expect_exact(std::bit_cast<float>(static_cast<std::uint32_t>(random()) | 0x7f800000));
    expect_exact(std::bit_cast<double>(random() & 0x800f'ffff'ffff'ffff));
  }
}

TEST_CASE("integers and bools come back, the minimum and the maximum too") {
  const auto expect_ends = []<class T>(T) {
    for (const T value : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{7}})
      expect_exact(value);
  };
  expect_ends(std::int8_t{});
  expect_ends(std::int16_t{});
  expect_ends(std::int32_t{});
  expect_ends(std::int64_t{});
  expect_ends(std::uint8_t{});
  expect_ends(std::uint16_t{});
  expect_ends(std::uint32_t{});
  expect_ends(std::uint64_t{});
  expect_exact(true);
  expect_exact(false);
}

TEST_CASE("numbers are written and read in the usual notation") {
  CHECK(number_text(0.1f) == "0.1");
  CHECK(number_text(-0.0) == "-0");
  CHECK(number_text(Half(1.5f)) == "1.5");
  CHECK(number_text(std::int8_t{65}) == "65");
  CHECK(number_text(-std::numeric_limits<float>::infinity()) == "-inf");
  CHECK(number_text(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(number_text(std::bit_cast<float>(0xff800001)) == "nan(0xff800001)");
  CHECK(reread<float>("1e3") == 1000);
  CHECK(reread<double>(".5") == 0.5);
  CHECK(reread<std::int32_t>("007") == 7);
  CHECK(static_cast<float>(reread<Half>("65519")) == 65504);
}

TEST_CASE("a number that the dtype does not hold is refused") {
  CHECK(error<float>("1e39") ==
        "t:1:1: found 1e39, expected a number that f32 can hold; change the number or the dtype\n1e39\n^");
  CHECK(error<float>("-1e-50") ==
        "t:1:1: found -1e-50, expected a number that f32 can hold; change the number or the dtype\n-1e-50\n^");
  CHECK(error<Half>("65520") ==
        "t:1:1: found 65520, expected a number that f16 can hold; change the number or the dtype\n65520\n^");
  CHECK(error<Half>("1e-9") ==
        "t:1:1: found 1e-9, expected a number that f16 can hold; change the number or the dtype\n1e-9\n^");
  CHECK(error<std::int8_t>(" -129") ==
        "t:1:2: found -129, expected -128 to 127, the range of i8; change the number or the dtype\n -129\n ^");
  CHECK(error<std::uint64_t>("18446744073709551616") ==
        "t:1:1: found 18446744073709551616, expected 0 to 18446744073709551615, the range of u64; change the number or "
        "the dtype\n"
        "18446744073709551616\n^");
  CHECK(error<std::uint8_t>("2.5") ==
        "t:1:1: found 2.5, expected an integer of dtype u8; change the number or the dtype\n2.5\n^");
  CHECK(error<std::int64_t>(" -1e3") ==
        "t:1:2: found -1e3, expected an integer of dtype i64; change the number or the dtype\n -1e3\n ^");
  CHECK(error<std::uint8_t>("-1") ==
        "t:1:1: found -1, expected 0 to 255, the range of u8; change the number or the dtype\n-1\n^");
}

TEST_CASE("text that is not a number is refused") {
  CHECK(error<float>("x") == "t:1:1: found 'x', expected a number of dtype f32; write one\nx\n^");
  CHECK(error<float>("infinity") == "t:1:1: found 'infinity', expected a number of dtype f32; write one\ninfinity\n^");
  CHECK(error<double>("-") == "t:1:2: found the end of the text, expected a number of dtype f64; write one\n-\n ^");
  CHECK(error<std::int32_t>("x") == "t:1:1: found 'x', expected an integer of dtype i32; write one\nx\n^");
  CHECK(error<bool>("1") == "t:1:1: found '1', expected true or false; write one of them\n1\n^");
  const std::string bits = "expected the bits of a NaN of f32, such as 0x7fc00000; correct them\n";
  CHECK(error<float>("nan(1)") == "t:1:5: found '1', " + bits + "nan(1)\n    ^");
  CHECK(error<float>("nan(0x3f800000)") == "t:1:5: found '0x3f800000', " + bits + "nan(0x3f800000)\n    ^");
  CHECK(error<float>("nan(0x17fc00000)") == "t:1:5: found '0x17fc00000', " + bits + "nan(0x17fc00000)\n    ^");
  CHECK(error<float>("nan()") == "t:1:5: found ')', " + bits + "nan()\n    ^");
  CHECK(error<float>("nan(0x7fc00000") ==
        "t:1:15: found the end of the text, expected ')'; close the bits of the NaN\nnan(0x7fc00000\n              ^");
}

}  // namespace
}  // namespace millrace
