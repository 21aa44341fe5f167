// SPDX-License-Identifier: Apache-2.0
// Ops that select, replace and order elements, against plain loops, and what is refused.
#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

Doubles values_of(const reference::Tensor& tensor) { return reference::read_all<double>(tensor); }

Floats counted(std::int64_t count) {
  Floats values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST_CASE("what the elements decide the size of is refused, unless they are known") {
  const auto of = [](const char* op) { return refusal({{op, {"x"}, {"y"}}, {onnx_value("x", kOnnxFloat, {4})}}); };
  CHECK(of("NonZero") == ": the elements of an operand decide the size of the result, which is not supported");
  CHECK(of("Unique") == ": the elements of an operand decide the size of the result, which is not supported");
  const OneNode known{{"NonZero", {"c"}, {"y"}}, {}, {onnx_tensor("c", {2, 3}, Floats{0, 1, 2, 3, 0, 4})}};
  CHECK(values_of(run_node(known, {})[0]) == Doubles{0, 0, 1, 1, 1, 2, 0, 2});

  OneNode compress{{"Compress", {"x", "c"}, {"y"}, {onnx_int("axis", 1)}},
                   {onnx_value("x", kOnnxFloat, {"n", 4})},
                   {onnx_tensor("c", {3}, Integers{0, 1, 1})}};
  CHECK(values_of(run_node(compress, {tensor_of({2, 4}, counted(8))})[0]) == Doubles{1, 2, 5, 6});
  compress.node.attributes = {};
  CHECK(values_of(run_node(compress, {tensor_of({2, 4}, counted(8))})[0]) == Doubles{1, 2});
  compress.constants = {};
  compress.inputs.push_back(onnx_value("c", kOnnxBool, {3}));
  CHECK(refusal(compress) ==
        ".input[1] ('c'): is computed at run time, expected elements that are known when the model is imported; if an "
        "input decides them, give its value");
}

TEST_CASE("Split makes a shorter last part from version 18 on") {
  OneNode model{{"Split", {"x"}, {"a", "b", "c"}, {onnx_int("num_outputs", 3)}}, {onnx_value("x", kOnnxFloat, {7})}};
  CHECK(types_of(model) == "f32[3] f32[3] f32[1]");
  model.inputs = {onnx_value("x", kOnnxFloat, {"n"})};
  CHECK(refusal(model) == ": n elements are not known to make 3 equal parts; give the dim a divisor or a value");
  model.version = 13;
  model.node.attributes = {};
  model.inputs = {onnx_value("x", kOnnxFloat, {7})};
  CHECK(refusal(model) == ": 7 elements are not known to make 3 equal parts; give the dim a divisor or a value");
  model.node.inputs.push_back("parts");
  model.constants = {onnx_tensor("parts", {3}, Integers{1, 4, 2})};
  CHECK(types_of(model) == "f32[1] f32[4] f32[2]");
  model.version = 18;
  model.node.inputs.pop_back();
  model.node.attributes = {onnx_int("num_outputs", 4)};
  CHECK(refusal(model) == ".attribute 'num_outputs': found 4, but the node has 3 results");
  model.node = {"Split", {"x"}, {"a", "b", "c", "d"}, {onnx_int("num_outputs", 4)}};
  model.inputs = {onnx_value("x", kOnnxFloat, {5})};
  model.constants = {};
  CHECK(refusal(model) == ": 5 elements cannot be split into 4 parts of 2 elements; only the last part may have fewer");
}

TEST_CASE("before version 18, Split makes equal or given parts of a dim with a name") {
  OneNode model{{"Split", {"x"}, {"a", "b"}}, {onnx_value("x", kOnnxFloat, {"n"})}, {}, 13};
  CHECK(types_of(model) == "f32[floor_div(n, 2)] f32[floor_div(n, 2)]");
  CHECK(values_of(run_node(model, {tensor_of({6}, counted(6))})[1]) == Doubles{3, 4, 5});
  model.node.inputs.push_back("parts");
  model.constants = {onnx_tensor("parts", {2}, Integers{2, 4})};
  CHECK(types_of(model) == "f32[2] f32[4]");
  CHECK(values_of(run_node(model, {tensor_of({6}, counted(6))})[1]) == Doubles{2, 3, 4, 5});
}

TEST_CASE("GatherND joins batch dims") {
  OneNode model{{"GatherND", {"x", "at"}, {"y"}, {onnx_int("batch_dims", 2)}},
                {onnx_value("x", kOnnxFloat, {"a", "b", 3, 2}), onnx_value("at", kOnnxInt64, {"a", "b", 4, 1})}};
  const Floats x = counted(2 * 2 * 3 * 2);
  Integers at;
  for (std::int64_t i = 0; i < 16; ++i) at.push_back(i % 3 - (i % 5 == 0 ? 3 : 0));
  const reference::Tensor result = run_node(model, {tensor_of({2, 2, 3, 2}, x), tensor_of({2, 2, 4, 1}, at)})[0];
  CHECK(result.extents() == Integers{2, 2, 4, 2});
  Doubles expected;
  for (std::int64_t i = 0; i < 32; ++i) {
    const std::int64_t batch = i / 8, index = i / 2 % 3;
    expected.push_back(x[static_cast<std::size_t>(batch * 6 + index % 3 * 2 + i % 2)]);
  }
  CHECK(values_of(result) == expected);
  model.inputs[1] = onnx_value("at", kOnnxInt64, {"a", "c", 4, 1});
  CHECK(
      refusal(model) ==
      ".input[1] ('at'): is i64[a, c, 4, 1], expected it to begin with the first 2 dims of operand 0, f32[a, b, 3, 2]");
  model.node.attributes = {onnx_int("batch_dims", 4)};
  CHECK(refusal(model) == ".attribute 'batch_dims': found 4, expected 0 or more, and less than 4");
  model.node.attributes = {onnx_int("batch_dims", 3)};
  model.inputs[1] = onnx_value("at", kOnnxInt64, {"a", "b", 3, 2});
  CHECK(refusal(model) == ".input[1] ('at'): is i64[a, b, 3, 2], expected up to 1 parts in the last dim");
}

TEST_CASE("indices may leave out the ends of other axes") {
  const std::vector<MessageWriter> inputs = {onnx_value("x", kOnnxFloat, {3, 4}), onnx_value("at", kOnnxInt64, {2, 2}),
                                             onnx_value("u", kOnnxFloat, {2, 2})};
  const reference::Tensor x = tensor_of({3, 4}, counted(12)), at = tensor_of({2, 2}, Integers{3, 0, -1, -1}),
                          u = tensor_of({2, 2}, Floats{10, 20, 30, 40});
  const OneNode gathered{{"GatherElements", {"x", "at"}, {"y"}, {onnx_int("axis", 1)}}, {inputs[0], inputs[1]}};
  CHECK(values_of(run_node(gathered, {x, at})[0]) == Doubles{3, 0, 7, 7});
  OneNode scattered{{"ScatterElements", {"x", "at", "u"}, {"y"}, {onnx_int("axis", 1)}}, inputs};
  CHECK(values_of(run_node(scattered, {x, at, u})[0]) == Doubles{20, 1, 2, 10, 4, 5, 6, 40, 8, 9, 10, 11});
  const auto reduced = [&](const char* reduction) {
    scattered.node.attributes = {onnx_int("axis", 1), onnx_text("reduction", reduction)};
    return values_of(run_node(scattered, {x, at, u})[0]);
  };
  CHECK(reduced("add") == Doubles{20, 1, 2, 13, 4, 5, 6, 77, 8, 9, 10, 11});
  CHECK(reduced("min") == Doubles{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(reduced("max") == Doubles{20, 1, 2, 10, 4, 5, 6, 40, 8, 9, 10, 11});
  CHECK(reduced("mul") == Doubles{0, 1, 2, 30, 4, 5, 6, 7 * 30 * 40, 8, 9, 10, 11});
  scattered.node.attributes = {onnx_text("reduction", "max")};
  scattered.version = 16;
  CHECK(refusal(scattered) ==
        ".attribute 'reduction': found 'max', expected none, add, mul or, from version 18 on, min or max");
  const OneNode flat{{"GatherElements", {"x", "u"}, {"y"}}, {inputs[0], onnx_value("u", kOnnxInt64, {2})}};
  CHECK(refusal(flat) == ".input[1] ('u'): has rank 1, expected 2");
}

TEST_CASE("TensorScatter writes from an index per batch on, in a line or a circle") {
  OneNode model{{"TensorScatter", {"x", "u", "first"}, {"y"}, {onnx_text("mode", "circular")}},
                {onnx_value("x", kOnnxFloat, {2, 4, 1}), onnx_value("u", kOnnxFloat, {2, 2, 1}),
                 onnx_value("first", kOnnxInt64, {2})},
                {},
                24};
  const reference::Tensor x = tensor_of({2, 4, 1}, counted(8)), u = tensor_of({2, 2, 1}, Floats{10, 20, 30, 40});
  CHECK(values_of(run_node(model, {x, u, tensor_of({2}, Integers{1, 3})})[0]) == Doubles{0, 10, 20, 3, 40, 5, 6, 30});
  model.node.attributes = {};
  CHECK(values_of(run_node(model, {x, u, tensor_of({2}, Integers{1, 2})})[0]) == Doubles{0, 10, 20, 3, 4, 5, 30, 40});
  model.node.attributes = {onnx_text("mode", "random")};
  CHECK(refusal(model) == ".attribute 'mode': found 'random', expected linear or circular");
  model.node.attributes = {onnx_int("axis", 0)};
  CHECK(refusal(model) ==
        ".input[1] ('u'): is f32[2x2x1], expected the dims of operand 0, f32[2x4x1], except along an axis after the "
        "first");
}

TEST_CASE("scans can leave out the element itself, and run backwards") {
  const OneNode model{{"CumProd", {"x", "axis"}, {"y"}, {onnx_int("exclusive", 1), onnx_int("reverse", 1)}},
                      {onnx_value("x", kOnnxFloat, {"n", 3})},
                      {onnx_tensor("axis", {}, Integers{-1})},
                      26};
  CHECK(values_of(run_node(model, {tensor_of({2, 3}, Floats{2, 3, 5, 7, 11, 13})})[0]) ==
        Doubles{15, 5, 1, 143, 13, 1});
}

TEST_CASE("OneHot counts negative indices from the end, and takes a depth of any dtype") {
  OneNode model{{"OneHot", {"i", "depth", "values"}, {"y"}, {onnx_int("axis", 0)}},
                {onnx_value("i", kOnnxInt64, {"n"})},
                {onnx_tensor("depth", {}, Floats{3}), onnx_tensor("values", {2}, Floats{-1, 5})}};
  CHECK(values_of(run_node(model, {tensor_of({4}, Integers{-1, 0, 3, -4})})[0]) ==
        Doubles{-1, 5, -1, -1, -1, -1, -1, -1, 5, -1, -1, -1});
  model.constants[0] = onnx_tensor("depth", {}, Floats{-3});
  CHECK(refusal(model) == ".input[1] ('depth'): is -3, expected a size");
}

TEST_CASE("ReverseSequence leaves what comes after each length") {
  OneNode model{{"ReverseSequence", {"x", "lengths"}, {"y"}, {onnx_int("batch_axis", 0), onnx_int("time_axis", 1)}},
                {onnx_value("x", kOnnxFloat, {"n", 4}), onnx_value("lengths", kOnnxInt64, {"n"})}};
  CHECK(values_of(run_node(model, {tensor_of({3, 4}, counted(12)), tensor_of({3}, Integers{4, 1, 3})})[0]) ==
        Doubles{3, 2, 1, 0, 4, 5, 6, 7, 10, 9, 8, 11});
  model.node.attributes = {onnx_int("batch_axis", 1), onnx_int("time_axis", 1)};
  CHECK(refusal(model) == ".attribute 'batch_axis': found 1, expected another axis than time_axis");
}

TEST_CASE("ArgMax can select the last of equal elements") {
  const OneNode model{{"ArgMax", {"x"}, {"y"}, {onnx_int("axis", 1), onnx_int("select_last_index", 1)}},
                      {onnx_value("x", kOnnxFloat, {"n", "m"})}};
  CHECK(values_of(run_node(model, {tensor_of({2, 3}, Floats{4, 4, 1, 0, 2, 2})})[0]) == Doubles{1, 2});
}

TEST_CASE("TopK has its count as an attribute before version 10") {
  OneNode model{{"TopK", {"x"}, {"v", "i"}, {onnx_int("k", 2)}}, {onnx_value("x", kOnnxFloat, {"n", 4})}, {}, 9};
  CHECK(types_of(model) == "f32[n, 2] i64[n, 2]");
  model.node = {"TopK", {"x", "k"}, {"v", "i"}, {onnx_int("largest", 0)}};
  model.constants = {onnx_tensor("k", {1}, Integers{3})};
  model.version = 18;
  const std::vector<reference::Tensor> results = run_node(model, {tensor_of({1, 4}, Floats{3, 1, 2, 1})});
  CHECK(values_of(results[0]) == Doubles{1, 1, 2});
  CHECK(values_of(results[1]) == Doubles{1, 3, 2});
}

TEST_CASE("Trilu takes its diagonal at run time") {
  OneNode model{{"Trilu", {"x", "k"}, {"y"}},
                {onnx_value("x", kOnnxFloat, {"n", "n"}), onnx_value("k", kOnnxInt64, {})}};
  const reference::Tensor x = tensor_of({2, 2}, Floats{1, 2, 3, 4});
  CHECK(values_of(run_node(model, {x, tensor_of({}, Integers{1})})[0]) == Doubles{0, 2, 0, 0});
  CHECK(values_of(run_node(model, {x, tensor_of({}, Integers{-1})})[0]) == Doubles{1, 2, 3, 4});
  model.inputs[0] = onnx_value("x", kOnnxFloat, {2});
  CHECK(refusal(model) == ".input[0] ('x'): is f32[2], expected rank 2 or more");
}

TEST_CASE("EyeLike and Flatten follow symbols") {
  OneNode eye{{"EyeLike", {"x"}, {"y"}, {onnx_int("k", -1)}}, {onnx_value("x", kOnnxFloat, {"n", "m"})}};
  CHECK(values_of(run_node(eye, {tensor_of({2, 3}, counted(6))})[0]) == Doubles{0, 0, 0, 1, 0, 0});
  eye.inputs = {onnx_value("x", kOnnxFloat, {2})};
  CHECK(refusal(eye) == ".input[0] ('x'): is f32[2], expected a matrix");
  OneNode flat{{"Flatten", {"x"}, {"y"}, {onnx_int("axis", -1)}}, {onnx_value("x", kOnnxFloat, {"n", 3, "m"})}};
  CHECK(types_of(flat) == "f32[3*n, m]");
  flat.node.attributes = {onnx_int("axis", 4)};
  CHECK(refusal(flat) == ".attribute 'axis': found 4, expected -3 to 3");
}

}  // namespace
}  // namespace millrace::test
