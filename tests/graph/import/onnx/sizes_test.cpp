// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"
#include "tests/graph/import/onnx/ops/one_node.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using Integers = std::vector<std::int64_t>;

/// A model that fills a tensor of one dim, which the nodes compute as 'size' from n, the dim of x.
MessageWriter size_model(std::vector<TestNode> nodes, std::vector<MessageWriter> constants = {}) {
  std::vector<TestNode> all = {{"Shape", {"x"}, {"shape"}}};
  all.insert(all.end(), nodes.begin(), nodes.end());
  all.push_back({"ConstantOfShape", {"size"}, {"y"}});
  return onnx_model({.nodes = std::move(all),
                     .inputs = {onnx_value("x", kOnnxFloat, {"n"})},
                     .outputs = {onnx_value("y", kOnnxFloat, {""})},
                     .initializers = std::move(constants)});
}

/// The shape of the model's output, or the error.
std::string shape_of(const MessageWriter& model, const OnnxOptions& options = {}) {
  const Result<OnnxModel> imported = import_onnx("m", model.file(), options);
  if (!imported.ok()) return imported.status().message();
  return imported->graph.type(imported->graph.outputs[0].value).shape.to_text();
}

TestNode to_float(const char* from, const char* to) { return {"Cast", {from}, {to}, {onnx_int("to", kOnnxFloat)}}; }
TestNode to_integer(const char* from, const char* to) { return {"Cast", {from}, {to}, {onnx_int("to", kOnnxInt64)}}; }

MessageWriter integers(const char* name, const Integers& values) {
  return onnx_tensor(name, {static_cast<std::int64_t>(values.size())}, values);
}
MessageWriter floats(const char* name, const std::vector<float>& values) {
  return onnx_tensor(name, {static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("ONNX: sizes that go through floats stay exact fractions") {
  const auto chain = [](const char* op, float factor, const char* rounding) {
    return shape_of(size_model({to_float("shape", "f"),
                                {op, {"f", "factor"}, {"scaled"}},
                                {rounding, {"scaled"}, {"whole"}},
                                to_integer("whole", "size")},
                               {floats("factor", {factor})}));
  };
  CHECK(chain("Mul", 0.5f, "Floor") == "[floor_div(n, 2)]");
  CHECK(chain("Mul", 0.5f, "Ceil") == "[floor_div(n + 1, 2)]");
  CHECK(chain("Div", 3.0f, "Floor") == "[floor_div(n, 3)]");
  CHECK(chain("Div", 16.0f, "Floor") == "[floor_div(n, 16)]");
  CHECK(chain("Div", 0.25f, "Round") == "[4*n]");
  CHECK(chain("Mul", 1.5f, "Identity") == "[n + floor_div(n, 2)]");
  CHECK(chain("Add", 2.5f, "Floor") == "[n + 2]");
}

TEST_CASE("ONNX: a factor that is no small fraction leaves the size unknown") {
  // 41 times the f32 next to 1 / 41 is below 1.
  for (const float factor : {0.123456f, 1.0f / 3, 1.0f / 41}) {
    const MessageWriter model =
        size_model({to_float("shape", "f"), {"Mul", {"f", "factor"}, {"scaled"}}, to_integer("scaled", "size")},
                   {floats("factor", {factor})});
    CHECK(shape_of(model) ==
          "onnx 'm': 1 part cannot be imported:\n"
          "  graph.node[4] (ConstantOfShape '').input[0] ('size'): is computed at run time, expected elements that are "
          "known when the model is imported; if an input decides them, give its value [ai.onnx 18]");
  }
}

TEST_CASE("ONNX: comparisons of sizes are decided by facts") {
  const MessageWriter model =
      size_model({{"Greater", {"shape", "four"}, {"is_large"}}, {"Where", {"is_large", "shape", "four"}, {"size"}}},
                 {integers("four", {4})});
  CHECK(shape_of(model, {.dims = {{"n", Dim("n").at_least(5)}}}) == "[n]");
  CHECK(shape_of(model, {.dims = {{"n", Dim("n").at_most(4)}}}) == "[4]");
  CHECK(shape_of(model) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[3] (ConstantOfShape '').input[0] ('size'): depends on Greater of n and 4, which is not known; "
        "give the dims bounds or values [ai.onnx 18]");
}

TEST_CASE("ONNX: Min, Max, Mod, products and quotients of sizes are sizes") {
  const auto with_three = [](const char* op) {
    return shape_of(size_model({{op, {"shape", "three"}, {"size"}}}, {integers("three", {3})}));
  };
  CHECK(with_three("Min") == "[min(n, 3)]");
  CHECK(with_three("Max") == "[max(n, 3)]");
  CHECK(with_three("Mod") == "[n - 3*floor_div(n, 3)]");
  CHECK(with_three("Div") == "[floor_div(n, 3)]");
  CHECK(shape_of(size_model(
            {{"Concat", {"shape", "three"}, {"list"}, {onnx_int("axis", 0)}}, {"ReduceProd", {"list"}, {"size"}}},
            {integers("three", {3})})) == "[3*n]");
}

TEST_CASE("ONNX: what is left for -1 is divided where the forms allow it") {
  const auto reshaped = [](const std::vector<TestDim>& dims, const Integers& shape) {
    return shape_of(onnx_model({.nodes = {{"Reshape", {"x", "shape"}, {"y"}}},
                                .inputs = {onnx_value("x", kOnnxFloat, dims)},
                                .outputs = {onnx_value("y", kOnnxFloat, {""})},
                                .initializers = {integers("shape", shape)}}));
  };
  CHECK(reshaped({"n", 8}, {0, 2, -1}) == "[n, 2, 4]");
  CHECK(reshaped({"n", "m", 8}, {0, -1, 4}) == "[n, 2*m, 4]");
}

TEST_CASE("ONNX: dims of two symbols that must be equal are checked by each run") {
  const OnnxModel imported =
      import_onnx("m", onnx_model({.nodes = {{"Add", {"x", "y"}, {"z"}, {}, "sum"}},
                                   .inputs = {onnx_value("x", kOnnxFloat, {"n"}), onnx_value("y", kOnnxFloat, {"m"})},
                                   .outputs = {onnx_value("z", kOnnxFloat, {"n"})}})
                           .file())
          .value();
  CHECK(imported.graph.type(imported.graph.outputs[0].value).shape.to_text() == "[n]");
  CHECK(imported.notes == std::vector<std::string>{"graph.node[0] (Add 'sum'): m and n must be equal"});
}

TEST_CASE("ONNX: so are those of ops with any number of operands") {
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) {
    CAPTURE(op);
    const OnnxModel imported =
        import_onnx("m", onnx_model({.nodes = {{op, {"x", "y"}, {"z"}}},
                                     .inputs = {onnx_value("x", kOnnxFloat, {"n"}), onnx_value("y", kOnnxFloat, {"m"})},
                                     .outputs = {onnx_value("z", kOnnxFloat, {"n"})}})
                             .file())
            .value();
    CHECK(imported.notes == std::vector<std::string>{fmt::format("graph.node[0] ({} ''): m and n must be equal", op)});
  }
}

TEST_CASE("ONNX: a dim of one tensor that is another dim of the other tensor may be 1, which each run decides") {
  const OnnxModel imported =
      import_onnx("m",
                  onnx_model({.nodes = {{"Add", {"x", "y"}, {"z"}, {}, "sum"}},
                              .inputs = {onnx_value("x", kOnnxFloat, {"n", "m"}), onnx_value("y", kOnnxFloat, {"n"})},
                              .outputs = {onnx_value("z", kOnnxFloat, {"n", "m"})}})
                      .file())
          .value();
  CHECK(imported.notes == std::vector<std::string>{"graph.node[0] (Add 'sum'): n must be 1 or m"});
  const Program program = compile(imported.graph, test::suite_options()).value();
  const auto add = [&](std::int64_t n, std::int64_t m) {
    std::vector<float> x(static_cast<std::size_t>(n * m), 1), y(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(10 * (i + 1));
    return test::run_guarded(program, std::vector{test::tensor_of({n, m}, x), test::tensor_of({n}, y)});
  };
  CHECK(reference::read_all<double>(add(1, 3).value()[0]) == std::vector<double>{11, 11, 11});
  CHECK(reference::read_all<double>(add(2, 2).value()[0]) == std::vector<double>{11, 21, 11, 21});
  CHECK(add(2, 3).status().message() == "run: Add: an index that it computes is out of range with m = 3, n = 2");
  CHECK(add(3, 2).status().message() ==
        "output types: Add needs max(m, n) <= m, found 3 and 2 with m = 2, n = 3; bind other sizes");
}

TEST_CASE("ONNX: an input that the graph lacks binds no symbol") {
  const MessageWriter model =
      onnx_model({.nodes = {{"Reshape", {"x", "shape"}, {"y"}}},
                  .inputs = {onnx_value("x", kOnnxFloat, {"n + 1"}), onnx_value("shape", kOnnxInt64, {"n"})},
                  .outputs = {onnx_value("y", kOnnxFloat, {"", ""})}});
  OnnxOptions options;
  const Integers shape = {1, -1};
  options.values["shape"] = {{DType::kI64, {2}}, SharedBytes(std::as_bytes(std::span(shape)))};
  const OnnxModel imported = import_onnx("m", model.file(), options).value();
  CHECK(imported.notes == std::vector<std::string>{"dim 'n + 1' is the symbol n___1"});
  CHECK(imported.graph.type(imported.graph.outputs[0].value).to_text() == "f32[1, n___1]");
  const Program program = compile(imported.graph, test::suite_options()).value();
  const auto x = test::tensor_of({3}, std::vector<float>{1, 2, 3});
  CHECK(test::run_guarded(program, std::vector{x}).value()[0].bytes == x.bytes);
}

TEST_CASE("ONNX: a dim without a name gets another one than the caller's symbols") {
  const MessageWriter model = onnx_model({.nodes = {{"Identity", {"x"}, {"y"}}},
                                          .inputs = {onnx_value("x", kOnnxFloat, {"", "n", "x 0"})},
                                          .outputs = {onnx_value("y", kOnnxFloat, {"", "", ""})}});
  const auto type = [&](const OnnxOptions& options) {
    const Graph graph = import_onnx("m", model.file(), options).value().graph;
    return graph.type(graph.outputs[0].value).to_text();
  };
  CHECK(type({}) == "f32[x_0, n, x_0_1]");
  CHECK(type({.dims = {{"n", SizeExpr(Dim("x_0").at_least(1))}}}) == "f32[x_0_1, x_0, x_0_2]");
}

TEST_CASE("ONNX: integers that follow from constants leave no node") {
  // The indices that an exporter writes for x[1:3] = ...
  const OnnxModel imported =
      import_onnx("m", onnx_model({.nodes = {{"Expand", {"row", "shape"}, {"rows"}},
                                             {"Unsqueeze", {"rows", "last"}, {"a"}},
                                             {"Concat", {"a", "a"}, {"at"}, {onnx_int("axis", -1)}},
                                             {"GatherND", {"x", "at"}, {"y"}}},
                                   .inputs = {onnx_value("x", kOnnxFloat, {4, 4})},
                                   .outputs = {onnx_value("y", kOnnxFloat, {2, 3})},
                                   .initializers = {onnx_tensor("row", {2, 1}, Integers{1, 2}),
                                                    integers("shape", {2, 3}), integers("last", {-1})}})
                           .file())
          .value();
  const Integers expected = {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2};
  std::size_t num_constants = 0;
  for (const Node& node : imported.graph.nodes) {
    const auto* constant = std::get_if<ConstantNode>(&node.what);
    if (constant == nullptr || node.results[0].to_text() != "i64[2x3x2]") continue;
    ++num_constants;
    CHECK(std::ranges::equal(constant->data, std::as_bytes(std::span(expected))));
  }
  CHECK(num_constants == 1);
}

TEST_CASE("ONNX: pads that an exporter reverses row by row are known") {
  // torch.onnx writes the pads of the last dims first: [left, right] becomes [0, left, 0, right].
  const Result<OnnxModel> imported = import_onnx(
      "m", onnx_model({.nodes = {{"Concat", {"given", "zeros"}, {"all"}, {onnx_int("axis", 0)}},
                                 {"Reshape", {"all", "pairs"}, {"rows"}},
                                 {"Slice", {"rows", "last", "first", "axis", "last"}, {"reversed"}},
                                 {"Transpose", {"reversed"}, {"columns"}, {onnx_ints("perm", {1, 0})}},
                                 {"Reshape", {"columns", "last"}, {"pads"}},
                                 {"Pad", {"x", "pads"}, {"y"}}},
                       .inputs = {onnx_value("x", kOnnxFloat, {1, "n"})},
                       .outputs = {onnx_value("y", kOnnxFloat, {1, ""})},
                       .initializers = {integers("given", {2, 3}), integers("zeros", {0, 0}),
                                        integers("pairs", {-1, 2}), integers("last", {-1}), integers("axis", {0}),
                                        integers("first", {std::numeric_limits<std::int64_t>::min() + 1})}})
               .file());
  REQUIRE(imported.status().message() == "");
  CHECK(imported->graph.type(imported->graph.outputs[0].value).to_text() == "f32[1, n + 5]");
}

TEST_CASE("ONNX: an integer input whose elements decide a shape is given as dims") {
  const OnnxModel imported =
      import_onnx("m",
                  onnx_model({.nodes = {{"Expand", {"x", "shape"}, {"y"}}},
                              .inputs = {onnx_value("x", kOnnxFloat, {1, 4}), onnx_value("shape", kOnnxInt64, {2})},
                              .outputs = {onnx_value("y", kOnnxFloat, {"", 4})}})
                      .file())
          .value();
  CHECK(imported.inputs == std::vector<std::string>{"x"});
  CHECK(imported.notes ==
        std::vector<std::string>{"input 'shape' decides shapes: replaced by the dims shape_0, shape_1",
                                 "graph.node[0] (Expand ''): 4 and shape_1 must be equal"});
}

}  // namespace millrace
