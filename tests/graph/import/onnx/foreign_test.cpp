// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

constexpr std::int64_t kFloat8E4M3FN = 17, kFloat8E4M3FNUZ = 18, kFloat8E5M2 = 19, kFloat8E5M2FNUZ = 20, kUint4 = 21,
                       kInt4 = 22, kFloat4E2M1 = 23, kFloat8E8M0 = 24, kUint2 = 25, kInt2 = 26;

OneNode cast_of(std::int64_t type, std::int64_t count, std::string_view bytes) {
  return {.node = {"Cast", {"c"}, {"y"}, {onnx_int("to", kOnnxFloat)}},
          .inputs = {},
          .constants = {onnx_tensor("c", type, {count}, bytes)},
          .version = 25};
}

/// A constant of such elements, cast to f32.
std::vector<float> cast_to_f32(std::int64_t type, std::int64_t count, std::string_view bytes) {
  const reference::Tensor result = run_node(cast_of(type, count, bytes), {}).at(0);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::memcpy(numbers.data(), result.bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

using Floats = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("ONNX: floats of 8 bits have the values of their formats") {
  // Zero, the smallest subnormal, one, the largest number.
  CHECK(cast_to_f32(kFloat8E4M3FN, 4, {"\x00\x01\x38\x7e", 4}) == Floats{0, 0x1p-9f, 1, 448});
  CHECK(cast_to_f32(kFloat8E4M3FNUZ, 4, {"\x00\x01\x40\x7f", 4}) == Floats{0, 0x1p-10f, 1, 240});
  CHECK(cast_to_f32(kFloat8E5M2, 4, {"\x00\x01\x3c\x7b", 4}) == Floats{0, 0x1p-16f, 1, 57344});
  CHECK(cast_to_f32(kFloat8E5M2FNUZ, 4, {"\x00\x01\x40\x7f", 4}) == Floats{0, 0x1p-17f, 1, 57344});
  CHECK(cast_to_f32(kFloat8E8M0, 3, {"\x00\x7f\xfe", 3}) == Floats{0x1p-127f, 1, 0x1p127f});
  CHECK(cast_to_f32(kFloat8E5M2, 2, "\x7c\xfc") == Floats{kInfinity, -kInfinity});
  CHECK(cast_to_f32(kFloat8E4M3FN, 1, "\xb8") == Floats{-1});
  for (const auto& [type, bytes] : std::vector<std::pair<std::int64_t, std::string_view>>{{kFloat8E4M3FN, "\xff"},
                                                                                          {kFloat8E4M3FNUZ, "\x80"},
                                                                                          {kFloat8E5M2, "\x7d"},
                                                                                          {kFloat8E5M2FNUZ, "\x80"},
                                                                                          {kFloat8E8M0, "\xff"}}) {
    CAPTURE(type);
    CHECK(std::isnan(cast_to_f32(type, 1, bytes)[0]));
  }
}

TEST_CASE("ONNX: elements of 4 and 2 bits begin in the lowest bits of each byte") {
  CHECK(cast_to_f32(kUint4, 3, "\x21\x0f") == Floats{1, 2, 15});
  CHECK(cast_to_f32(kInt4, 3, "\x71\x08") == Floats{1, 7, -8});
  CHECK(cast_to_f32(kUint2, 4, "\xe4") == Floats{0, 1, 2, 3});
  CHECK(cast_to_f32(kInt2, 4, "\xe4") == Floats{0, 1, -2, -1});
  CHECK(cast_to_f32(kFloat4E2M1, 4, "\x21\xf7") == Floats{0.5f, 1, 6, -6});
}

TEST_CASE("ONNX: packed elements that the file does not have are refused") {
  CHECK(refusal(cast_of(kInt4, 3, "\x21")) == ".input[0] ('c'): found 1 bytes of data, expected 2 for INT4[3]");
  constexpr std::int64_t kComplex64 = 14;
  CHECK(refusal(cast_of(kComplex64, 1, "12345678")) == ".input[0] ('c'): elements of COMPLEX64 are not supported");
}

}  // namespace millrace::test
