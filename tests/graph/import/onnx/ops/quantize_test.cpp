// SPDX-License-Identifier: Apache-2.0
// Quantization: what libonnx-testdata does not cover, and what is refused.
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::int8_t>;

constexpr std::int64_t kOnnxUint8 = 2, kOnnxInt8 = 3, kOnnxUint16 = 4, kOnnxInt32 = 6, kOnnxHalf = 10, kOnnxInt4 = 22;

MessageWriter bytes(std::string_view name, std::int64_t type, const std::vector<std::int64_t>& dims,
                    const std::string& raw) {
  return onnx_tensor(name, type, dims, raw);
}

TEST_CASE("a constant of 4 bits is unpacked by the graph, with a scale and a zero point per block") {
  // Rows of 3: -8 -1 0, 7 1 2. The first element of a byte is in its lower half.
  const OneNode model{
      {"DequantizeLinear", {"q", "s", "z"}, {"y"}, {onnx_int("axis", 1), onnx_int("block_size", 2)}},
      {},
      {bytes("q", kOnnxInt4, {2, 3}, "\xF8\x70\x21"), onnx_tensor("s", {2, 2}, Floats{1, 10, 0.5F, 100}),
       bytes("z", kOnnxInt4, {2, 2}, std::string("\x10\x0F", 2))},
      21};
  // Zero points: 0 1, -1 0.
  CHECK(reference::read_all<double>(run_node(model, {})[0]) == std::vector<double>{-8, -1, -10, 4, 1, 200});
}

TEST_CASE("MatMulInteger subtracts zero points per row and per column, for any number of rows") {
  const OneNode model{
      {"MatMulInteger", {"x", "w", "a", "b"}, {"y"}},
      {onnx_value("x", kOnnxUint8, {2, "m", 3}), onnx_value("a", kOnnxUint8, {})},
      {bytes("w", kOnnxInt8, {3, 2}, "\x01\xFF\x7F\x80\x05\x02"), bytes("b", kOnnxInt8, {2}, "\x03\xFC")}};
  const Bytes w = {1, -1, 127, -128, 5, 2}, b = {3, -4};
  for (const std::int64_t rows : {1, 3}) {
    CAPTURE(rows);
    std::vector<std::uint8_t> x;
    for (std::int64_t i = 0; i < 2 * rows * 3; ++i) x.push_back(static_cast<std::uint8_t>(i * 37 + 200));
    const std::vector<reference::Tensor> results =
        run_node(model, {tensor_of({2, rows, 3}, x), tensor_of({}, std::vector<std::uint8_t>{77})});
    std::vector<std::int64_t> expected;
    for (std::int64_t row = 0; row < 2 * rows; ++row) {
      for (std::size_t column = 0; column < 2; ++column) {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          sum += (x[static_cast<std::size_t>(row) * 3 + k] - 77) * (w[k * 2 + column] - b[column]);
        }
        expected.push_back(sum);
      }
    }
    CHECK(reference::read_all<std::int64_t>(results[0]) == expected);
  }
}

/// The doubles rounded to f16.
std::vector<double> as_f16(const std::vector<double>& numbers) {
  return reference::read_all<double>(reference::make_tensor(DType::kF16, {std::ssize(numbers)}, numbers));
}

TEST_CASE("with a scale of f16, the quotient is rounded to f16 before it becomes an integer") {
  constexpr double kScale = 1638 * 0x1p-14;  // 0.1 in f16
  std::vector<double> x, quotients;
  for (int i = -2048; i < 2048; i += 3) x.push_back(i * 0x1p-3);
  for (const double number : x) quotients.push_back(number / kScale);
  const auto steps = [](const std::vector<double>& of) {
    std::vector<std::int64_t> rounded;
    for (const double quotient : of) rounded.push_back(static_cast<std::int64_t>(std::nearbyint(quotient)) + 4000);
    return rounded;
  };
  const std::vector<std::int64_t> expected = steps(as_f16(quotients));
  CHECK(expected != steps(quotients));
  const auto scale = [](std::uint16_t bits) {
    return onnx_tensor("s", kOnnxHalf, {}, {reinterpret_cast<const char*>(&bits), sizeof(bits)});
  };
  const OneNode model{{"QuantizeLinear", {"x", "s", "z"}, {"y"}},
                      {onnx_value("x", kOnnxHalf, {std::ssize(x)})},
                      {scale(0x2E66), bytes("z", kOnnxUint16, {}, "\xA0\x0F")},
                      21};
  const reference::Tensor given = reference::make_tensor(DType::kF16, {std::ssize(x)}, x);
  CHECK(reference::read_all<std::int64_t>(run_node(model, {given})[0]) == expected);

  // (q - 100) * 0.1 in f16, rounded once.
  const OneNode back{{"DequantizeLinear", {"q", "s", "z"}, {"y"}},
                     {onnx_value("q", kOnnxUint8, {256})},
                     {scale(0x2E66), bytes("z", kOnnxUint8, {}, "\x64")},
                     21};
  std::vector<std::uint8_t> q;
  std::vector<double> numbers;
  for (int i = 0; i < 256; ++i) {
    q.push_back(static_cast<std::uint8_t>(i));
    numbers.push_back((i - 100) * kScale);
  }
  const reference::Tensor found = run_node(back, {tensor_of({256}, q)})[0];
  CHECK(found.type.to_text() == "f16[256]");
  CHECK(reference::read_all<double>(found) == as_f16(numbers));
}

TEST_CASE("scales that are integers are refused, and inputs of 4-bit integers and 8-bit floats by name") {
  const auto one = [](const char* op, std::int64_t x, std::int64_t scale) {
    return refusal({{op, {"x", "s"}, {"y"}}, {onnx_value("x", x, {4}), onnx_value("s", scale, {})}, {}, 21});
  };
  CHECK(one("QuantizeLinear", kOnnxFloat, kOnnxInt32) == ".input[1] ('s'): is i32[], expected floats");
  CHECK(one("DequantizeLinear", kOnnxInt8, kOnnxInt32) ==
        ": found i8[4] and scales i32[], expected integers and floats");
  const std::string first = "onnx 'm': 1 part cannot be imported:\n  graph.input[0] 'x': elements of ";
  for (const auto& [type, name] :
       {std::pair(21, "UINT4"), std::pair(22, "INT4"), std::pair(17, "FLOAT8E4M3FN"), std::pair(18, "FLOAT8E4M3FNUZ"),
        std::pair(19, "FLOAT8E5M2"), std::pair(20, "FLOAT8E5M2FNUZ"), std::pair(23, "FLOAT4E2M1")}) {
    CHECK(one("DequantizeLinear", type, kOnnxFloat) == first + name + " are not supported here");
    const MessageWriter zero = onnx_tensor("z", type, {}, std::string(1, '\0'));
    CHECK(refusal({{"QuantizeLinear", {"x", "s", "z"}, {"y"}},
                   {onnx_value("x", kOnnxFloat, {4}), onnx_value("s", kOnnxFloat, {})},
                   {zero},
                   21}) == fmt::format(".input[2] ('z'): elements of {} are not supported here", name));
    CHECK(refusal({{"QuantizeLinear", {"x", "s"}, {"y"}, {onnx_int("output_dtype", type)}},
                   {onnx_value("x", kOnnxFloat, {4}), onnx_value("s", kOnnxFloat, {})},
                   {},
                   21}) == fmt::format(".attribute 'output_dtype': elements of {} are not supported here", name));
  }
}

TEST_CASE("quantization is refused where scales or dtypes do not fit") {
  const MessageWriter x = onnx_value("x", kOnnxFloat, {4, "n"});
  const auto quantize = [&](std::vector<MessageWriter> attributes, const std::vector<std::int64_t>& dims,
                            std::int64_t version) {
    const auto count = static_cast<std::size_t>(dims.empty() ? 1 : dims[0] * (dims.size() > 1 ? dims[1] : 1));
    return refusal({{"QuantizeLinear", {"x", "s"}, {"y"}, std::move(attributes)},
                    {x},
                    {onnx_tensor("s", dims, Floats(count, 1))},
                    version});
  };
  CHECK(quantize({}, {3}, 10) == ".input[1] ('s'): is [3], expected a scalar before version 13");
  CHECK(quantize({onnx_int("axis", 0)}, {3}, 13) ==
        ".input[1] ('s'): is f32[3], expected one element, or one per index of axis 0 of [4, n]");
  CHECK(quantize({onnx_int("axis", 0), onnx_int("block_size", 2)}, {3, 1}, 21) ==
        ".input[1] ('s'): is f32[3x1], expected [2, n], one element per block of 2 along axis 0");
  CHECK(quantize({onnx_int("block_size", -1)}, {3}, 21) == ".attribute 'block_size': found -1, expected 0 or more");
  CHECK(quantize({onnx_int("output_dtype", 22)}, {}, 21) ==
        ".attribute 'output_dtype': elements of INT4 are not supported here");
  CHECK(quantize({onnx_int("output_dtype", 1)}, {}, 21) ==
        ": quantizes to f32 from a quotient in f32, expected integers from floats");
  CHECK(refusal({{"DequantizeLinear", {"x", "s"}, {"y"}}, {x}, {onnx_tensor("s", {}, Floats{1})}}) ==
        ": found f32[4, n] and scales f32[], expected integers and floats");
  CHECK(refusal({{"DequantizeLinear", {"q", "s", "z"}, {"y"}},
                 {onnx_value("q", kOnnxInt8, {4}), onnx_value("z", kOnnxUint8, {})},
                 {onnx_tensor("s", {}, Floats{1})}}) == ".input[2] ('z'): is u8[], expected i8 like operand 0");
  CHECK(refusal({{"MatMulInteger", {"x", "x"}, {"y"}}, {x}}) == ".input[0] ('x'): is f32[4, n], expected i8 or u8");
  CHECK(refusal({{"DequantizeLinear", {"q", "s"}, {"y"}},
                 {},
                 {bytes("q", kOnnxInt4, {5}, "\x01"), onnx_tensor("s", {}, Floats{1})},
                 21}) == ".input[0] ('q'): found 1 bytes of data, expected 3 for INT4[5]");
}

}  // namespace
}  // namespace millrace::test
