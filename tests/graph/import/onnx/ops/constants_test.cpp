// SPDX-License-Identifier: Apache-2.0
// Constants, ranges and places: what libonnx-testdata does not cover, and what is refused.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

constexpr std::int64_t kOnnxInt16 = 5, kOnnxInt32 = 6, kOnnxHalf = 10, kOnnxDouble = 11, kOnnxBfloat16 = 16;

template <class T>
std::string raw_of(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}
template <class T>
MessageWriter scalar(const char* name, std::int64_t type, T value) {
  return onnx_tensor(name, type, {}, raw_of(std::vector<T>{value}));
}

TEST_CASE("NonZero of a scalar has no rows, and one column if the scalar is not 0") {
  const auto places = [](const std::vector<std::int64_t>& dims, const Floats& elements) {
    return types_of({{"NonZero", {"x"}, {"y"}}, {}, {onnx_tensor("x", dims, elements)}});
  };
  CHECK(places({}, {5}) == "i64[0x1]");
  CHECK(places({}, {0}) == "i64[0x0]");
  CHECK(places({2, 2}, {0, 1, 0, 2}) == "i64[2x2]");
  const OneNode list{{"NonZero", {"x"}, {"y"}}, {}, {onnx_tensor("x", {2, 2}, Floats{0, 1, 0, 2})}};
  CHECK(reference::read_all<double>(run_node(list, {})[0]) == Doubles{0, 1, 1, 1});
}

OneNode range(std::vector<MessageWriter> numbers, std::int64_t version, std::vector<MessageWriter> attributes = {}) {
  return {{"Range", {"a", "b", "c"}, {"y"}, std::move(attributes)}, {}, std::move(numbers), version};
}

TEST_CASE("Range of i16 covers the whole dtype") {
  const auto shorts = [](std::int16_t start, std::int16_t limit, std::int16_t delta) {
    const OneNode model =
        range({scalar("a", kOnnxInt16, start), scalar("b", kOnnxInt16, limit), scalar("c", kOnnxInt16, delta)}, 27);
    return reference::read_all<double>(run_node(model, {})[0]);
  };
  CHECK(shorts(3, 10, 3) == Doubles{3, 6, 9});
  CHECK(shorts(10, 4, -2) == Doubles{10, 8, 6});
  CHECK(shorts(4, 4, 1).empty());
  CHECK(shorts(-32768, 32767, 20000) == Doubles{-32768, -12768, 7232, 27232});
  CHECK(shorts(32767, -32768, -32768) == Doubles{32767, -1});
  CHECK(refusal(range({scalar<std::int16_t>("a", kOnnxInt16, 0), scalar<std::int16_t>("b", kOnnxInt16, 1),
                       scalar<std::int16_t>("c", kOnnxInt16, 0)},
                      27)) == ".input[2] ('c'): is 0, expected a step other than 0");
}

TEST_CASE("Range of 16-bit floats is computed in f32 or f64, and rounded once") {
  struct Case {
    DType dtype;
    std::int64_t type;
    std::uint16_t start, limit, delta;  // bits of 1, 30 and 0.1
    double step;
  };
  const Case cases[] = {{DType::kF16, kOnnxHalf, 0x3C00, 0x4F80, 0x2E66, 1638 * 0x1p-14},
                        {DType::kBF16, kOnnxBfloat16, 0x3F80, 0x41F0, 0x3DCD, 205 * 0x1p-11}};
  for (const Case& one : cases) {
    const std::vector<MessageWriter> numbers = {scalar("a", one.type, one.start), scalar("b", one.type, one.limit),
                                                scalar("c", one.type, one.delta)};
    Doubles exact;
    for (int i = 0; 1 + i * one.step < 30; ++i) exact.push_back(1 + i * one.step);
    const reference::Tensor expected = reference::make_tensor(one.dtype, {std::ssize(exact)}, exact);
    for (const std::int64_t stash : {kOnnxFloat, kOnnxDouble}) {
      const reference::Tensor found = run_node(range(numbers, 27, {onnx_int("stash_type", stash)}), {})[0];
      CHECK(found.type.to_text() == expected.type.to_text());
      CHECK(found.bytes == expected.bytes);
    }
    CHECK(run_node(range(numbers, 26), {})[0].bytes == expected.bytes);
    CHECK(refusal(range(numbers, 27, {onnx_int("stash_type", kOnnxHalf)})) ==
          ".attribute 'stash_type': found f16, expected f32 or f64");
    CHECK(refusal(range(numbers, 26, {onnx_int("stash_type", kOnnxFloat)})) ==
          ".attribute 'stash_type': is not an attribute of Range in version 26");
  }
}

TEST_CASE("a range whose length depends on a dim is refused where its numbers are too large to count") {
  // Casts n, the dim of x, to f32; Range counts to it.
  const auto counted = [](float start, float delta) {
    const MessageWriter model = onnx_model(
        {.nodes = {{"Size", {"x"}, {"n"}},
                   {"Cast", {"n"}, {"limit"}, {onnx_int("to", kOnnxFloat)}},
                   {"Range", {"start", "limit", "delta"}, {"y"}}},
         .inputs = {onnx_value("x", kOnnxFloat, {"n"})},
         .outputs = {onnx_value("y", kOnnxFloat, {""})},
         .initializers = {onnx_tensor("start", {}, Floats{start}), onnx_tensor("delta", {}, Floats{delta})}});
    const Result<OnnxModel> imported = import_onnx("m", model.file());
    if (!imported.ok()) return imported.status().message();
    return imported->graph.type(imported->graph.outputs[0].value).to_text();
  };
  CHECK(counted(0, 0.5f) == "f32[2*n]");
  CHECK(counted(-1, 2) == "f32[floor_div(n, 2) + 1]");
  const std::string refused =
      "onnx 'm': 1 part cannot be imported:\n"
      "  graph.node[2] (Range ''): start, limit and delta are not fractions below 2^31 with a small common denominator "
      "[ai.onnx 18]";
  CHECK(counted(0, 0x1p39f) == refused);
  CHECK(counted(-0x1p39f, 0.5f) == refused);
  CHECK(counted(0, 0) == refused);
  CHECK(counted(0, 0.01f) == refused);  // 7 / 0.01f is above 700
}

TEST_CASE("a Constant may be sparse; texts are refused by the name of their attribute") {
  const auto sparse = [](const std::vector<std::int64_t>& places) {
    const MessageWriter tensor = MessageWriter()
                                     .message(1, onnx_tensor("", {2}, Floats{5, 7}))
                                     .message(2, onnx_tensor("", {2}, places))
                                     .integer(3, 2)
                                     .integer(3, 3);
    const MessageWriter attribute = MessageWriter().text(1, "sparse_value").message(22, tensor).integer(20, 11);
    return OneNode{{"Constant", {}, {"y"}, {attribute}}};
  };
  CHECK(types_of(sparse({1, 5})) == "f32[2x3]");
  CHECK(reference::read_all<double>(run_node(sparse({1, 5}), {})[0]) == Doubles{0, 5, 0, 0, 0, 7});
  CHECK(refusal(sparse({1, 6})) == ".attribute 'sparse_value': index 6 of value 1 is not in 0..5");
  CHECK(refusal({{"Constant", {}, {"y"}, {onnx_text("value_string", "a")}}}) ==
        ".attribute 'value_string': elements of STRING are not supported here");
  const MessageWriter texts = MessageWriter().text(1, "value_strings").text(9, "a").integer(20, 8);
  CHECK(refusal({{"Constant", {}, {"y"}, {texts}}}) ==
        ".attribute 'value_strings': elements of STRING are not supported here");
  CHECK(refusal({{"Constant", {}, {"y"}}}) == ".attribute 'value': is missing, but Constant needs it");
}

TEST_CASE("ConstantOfShape is refused for a dim below 0") {
  const auto filled = [](const Integers& dims) {
    return OneNode{
        {"ConstantOfShape", {"s"}, {"y"}}, {}, {onnx_tensor("s", {static_cast<std::int64_t>(dims.size())}, dims)}};
  };
  CHECK(refusal(filled({2, -1})) == ".input[0] ('s'): has -1, expected 0 or more");
  CHECK(refusal(filled({std::numeric_limits<std::int64_t>::min()})) ==
        ".input[0] ('s'): has -9223372036854775808, expected 0 or more");
  CHECK(types_of(filled({2, 0})) == "f32[2x0]");
  CHECK(refusal({{"ConstantOfShape", {"s"}, {"y"}}, {}, {onnx_tensor("s", {1, 1}, Integers{3})}}) ==
        ".input[0] ('s'): is not a list of integers");
}

TEST_CASE("integers that overflow wrap, as at run time, also where they look like sizes") {
  const auto combine = [](const char* op, std::int64_t a, std::int64_t b) {
    const OneNode model{
        {op, {"a", "b"}, {"y"}}, {}, {onnx_tensor("a", {1}, Integers{a}), onnx_tensor("b", {1}, Integers{b})}};
    return reference::read_all<std::int64_t>(run_node(model, {})[0])[0];
  };
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(),
                         kMin = std::numeric_limits<std::int64_t>::min();
  CHECK(combine("Add", kMax, 1) == kMin);
  CHECK(combine("Sub", kMin, 1) == kMax);
  CHECK(combine("Mul", std::int64_t{1} << 62, 4) == 0);
  CHECK(combine("Mul", (std::int64_t{1} << 62) + 1, 4) == 4);
  CHECK(combine("Max", kMax, kMin) == kMax);
  const auto narrow = [](const char* op, std::int32_t a, std::int32_t b) {
    const OneNode model{{op, {"a", "b"}, {"y"}}, {}, {scalar("a", kOnnxInt32, a), scalar("b", kOnnxInt32, b)}};
    return reference::read_all<std::int64_t>(run_node(model, {})[0])[0];
  };
  CHECK(narrow("Add", std::numeric_limits<std::int32_t>::max(), 1) == std::numeric_limits<std::int32_t>::min());
  CHECK(narrow("Mul", 1 << 30, 6) == -(std::int64_t{1} << 31));
}

TEST_CASE("a size that overflows is refused, not clamped") {
  const auto filled = [](const Integers& factors) {
    const MessageWriter model =
        onnx_model({.nodes = {{"Shape", {"x"}, {"s"}}, {"Mul", {"s", "f"}, {"t"}}, {"ConstantOfShape", {"t"}, {"y"}}},
                    .inputs = {onnx_value("x", kOnnxFloat, {"n"})},
                    .outputs = {onnx_value("y", kOnnxFloat, {""})},
                    .initializers = {onnx_tensor("f", {1}, factors)}});
    const Result<OnnxModel> imported = import_onnx("m", model.file());
    if (!imported.ok()) return imported.status().message();
    const Program program = compile(imported->graph, suite_options()).value();
    return program.output_types(std::vector{Extents{4}}).status().message();
  };
  CHECK(
      filled({std::int64_t{1} << 62}) ==
      "output types: size 4611686018427387904*n: overflows int64 with n = 4, expected a value below 2^63; bind smaller "
      "values");
  CHECK(filled({-1}) ==
        "output types: %y = ConstantOfShape needs 0 <= -n, found 0 and -4 with n = 4; bind other sizes");
}

}  // namespace
}  // namespace millrace::test
