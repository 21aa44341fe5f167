// SPDX-License-Identifier: Apache-2.0
// Small files that ask for much: many calls of one function, and tables whose sizes are numbers.
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"

namespace millrace {
namespace {

MessageWriter function_of(std::string_view name, const std::vector<TestNode>& nodes) {
  MessageWriter function = MessageWriter().text(1, name).text(4, "a").text(5, "b").text(10, "f");
  for (const TestNode& node : nodes) function.message(7, encode(node));
  function.message(9, MessageWriter().text(1, "").integer(2, 18));
  return function.message(9, MessageWriter().text(1, "f").integer(2, 1));
}

/// f32[8] x through `num_calls` calls of the first function, one after the other.
MessageWriter model_of_calls(const std::vector<MessageWriter>& functions, int num_calls) {
  MessageWriter model = MessageWriter().integer(1, 9).message(8, MessageWriter().text(1, "f").integer(2, 1));
  model.message(8, MessageWriter().text(1, "").integer(2, 18));
  for (const MessageWriter& function : functions) model.message(25, function);
  TestGraph graph{.nodes = {}, .inputs = {onnx_value("x", kOnnxFloat, {8})}, .outputs = {}};
  std::string from = "x";
  for (int i = 0; i < num_calls; ++i) {
    graph.nodes.push_back({"F0", {from}, {fmt::format("y{}", i)}, {}, "call", "f"});
    from = graph.nodes.back().outputs[0];
  }
  graph.outputs.push_back(MessageWriter().text(1, from));
  return model.message(7, encode(graph));
}

std::string error_of(const MessageWriter& model) { return import_onnx("m", model.file()).status().message(); }

/// A node Constant of `count` ones: in the list of an attribute, or else in a tensor's list of floats.
TestNode constant_node(int count, bool is_list) {
  MessageWriter floats;
  for (int i = 0; i < count; ++i) floats.raw(std::string_view("\0\0\x80\x3f", 4));
  if (is_list) {
    return {"Constant", {}, {"c"}, {MessageWriter().text(1, "value_floats").text(7, floats.bytes()).integer(20, 6)}};
  }
  const MessageWriter tensor = MessageWriter().integer(1, count).integer(2, kOnnxFloat).text(4, floats.bytes());
  return {"Constant", {}, {"c"}, {MessageWriter().text(1, "value").message(5, tensor).integer(20, 4)}};
}

}  // namespace

TEST_CASE("ONNX: the calls of a function share the elements of its constants") {
  constexpr int kNumCalls = 20;
  const MessageWriter model =
      model_of_calls({function_of("F0", {constant_node(8, false), {"Add", {"a", "c"}, {"b"}}})}, kNumCalls);
  const Graph graph = import_onnx("m", model.file()).value().graph;
  std::set<const std::byte*> places;
  int num_constants = 0;
  for (const Node& node : graph.nodes) {
    const auto* constant = std::get_if<ConstantNode>(&node.what);
    if (constant == nullptr) continue;
    places.insert(constant->data.data());
    ++num_constants;
  }
  CHECK(num_constants == kNumCalls);
  CHECK(places.size() == 1);
}

TEST_CASE("ONNX: lists that the calls of a function copy are limited") {
  constexpr int kCount = 1000;
  const MessageWriter function = function_of("F0", {constant_node(kCount, true), {"Identity", {"a"}, {"b"}}});
  CHECK(error_of(model_of_calls({function}, 100)) == "");
  const MessageWriter model = model_of_calls({function}, 10'000);
  const std::size_t room = (std::size_t{1} << 23) + model.bytes().size();
  CHECK(error_of(model).find(fmt::format(
            "graph.node[{}] (F0 'call').function 'F0'.node[0] (Constant ''): computes {} elements while the model is "
            "imported, expected at most {} in a file of this size",
            room / kCount, kCount, room % kCount)) != std::string::npos);
}

TEST_CASE("ONNX: problems of many nodes that are many calls deep are counted, and the first ones are listed") {
  constexpr int kDepth = 60, kNumNodes = 20'000;
  std::vector<MessageWriter> functions;
  const std::string name(200, 'n');
  for (int i = 0; i < kDepth; ++i) {
    functions.push_back(function_of(fmt::format("F{}", i), {{fmt::format("F{}", i + 1), {"a"}, {"b"}, {}, name, "f"}}));
  }
  std::vector<TestNode> nodes;
  for (int i = 0; i < kNumNodes; ++i) nodes.push_back({"Foo", {"a"}, {i == 0 ? "b" : ""}});
  functions.push_back(function_of(fmt::format("F{}", kDepth), nodes));
  const std::string error = error_of(model_of_calls(functions, 1));
  CHECK(error.starts_with("onnx 'm': 20000 parts cannot be imported:\n  graph.node[0] (F0 'call').function 'F0'"));
  CHECK(error.ends_with(" more"));
  CHECK(error.size() < 20'000);
}

TEST_CASE("ONNX: the nodes of the graph that the calls of functions build are limited") {
  constexpr int kDepth = 16;  // each calls the next one twice
  std::vector<MessageWriter> functions;
  for (int i = 0; i < kDepth; ++i) {
    const std::string next = fmt::format("F{}", i + 1);
    functions.push_back(
        function_of(fmt::format("F{}", i), {{next, {"a"}, {"c"}, {}, "", "f"}, {next, {"c"}, {"b"}, {}, "", "f"}}));
  }
  std::vector<TestNode> nodes = {{"LogSoftmax", {"a"}, {"v0"}}};
  for (int i = 1; i < 8; ++i) nodes.push_back({"LogSoftmax", {fmt::format("v{}", i - 1)}, {fmt::format("v{}", i)}});
  nodes.back().outputs = {"b"};
  functions.push_back(function_of(fmt::format("F{}", kDepth), nodes));
  const MessageWriter model = model_of_calls(functions, 1);
  const std::string error = error_of(model);
  CAPTURE(error);
  CHECK(error.starts_with("onnx 'm': 1 part cannot be imported:\n  graph.node[0] (F0 'call').function 'F0'.node["));
  CHECK(error.ends_with(fmt::format(
      ": builds more than {} nodes of the graph, counting those of functions and bodies once per use; a file of this "
      "size may have no more",
      250'000 + model.bytes().size() / 2)));
}

namespace {

/// A model of i64[1] "sum": the sum of the extents of 30 inputs, each a symbol.
TestGraph sum_of_symbols() {
  TestGraph graph{
      .nodes = {{"Shape", {"x0"}, {"sum0"}}}, .inputs = {onnx_value("x0", kOnnxFloat, {"n0"})}, .outputs = {}};
  for (int i = 1; i < 30; ++i) {
    const std::string x = fmt::format("x{}", i), sum = i == 29 ? "sum" : fmt::format("sum{}", i);
    graph.inputs.push_back(onnx_value(x, kOnnxFloat, {fmt::format("n{}", i).c_str()}));
    graph.nodes.push_back({"Shape", {x}, {fmt::format("s{}", i)}});
    graph.nodes.push_back({"Add", {fmt::format("sum{}", i - 1), fmt::format("s{}", i)}, {sum}});
  }
  graph.outputs = {MessageWriter().text(1, "y")};
  return graph;
}

}  // namespace

TEST_CASE("ONNX: dims whose product has too many terms are refused before it is computed") {
  TestGraph graph = sum_of_symbols();
  graph.nodes.push_back(
      {"Concat", {"sum", "sum", "sum", "sum", "sum", "sum", "sum", "sum"}, {"dims"}, {onnx_int("axis", 0)}});
  graph.nodes.push_back({"ConstantOfShape", {"dims"}, {"y"}});
  CHECK(error_of(onnx_model(graph)) ==
        "onnx 'm': 1 part cannot be imported:\n  graph.node[60] (ConstantOfShape '').input[0] ('dims'): asks for dims "
        "whose product has more than 500 terms; give the dims values [ai.onnx 18]");
}

TEST_CASE("ONNX: many long sums of dims are a tensor, which the graph computes") {
  TestGraph graph = sum_of_symbols();
  graph.nodes.push_back({"Range", {"zero", "many", "one"}, {"r"}});
  graph.nodes.push_back({"Add", {"sum", "r"}, {"y"}});
  const auto number = [](std::string_view name, std::int64_t value) {
    return onnx_tensor(name, {}, std::vector<std::int64_t>{value});
  };
  graph.initializers = {number("zero", 0), number("many", 1000), number("one", 1)};
  const Graph imported = import_onnx("m", onnx_model(graph).file()).value().graph;
  const Value y = imported.outputs[0].value;
  CHECK(imported.type(y).to_text() == "i64[1000]");
  CHECK(kind_name(imported.nodes[y.node]) == "add");
}

TEST_CASE("ONNX: tables whose sizes are numbers are limited") {
  const auto number = [](std::string_view name, std::int64_t value) {
    return onnx_tensor(name, {}, std::vector<std::int64_t>{value});
  };
  const MessageWriter mel =
      onnx_model({.nodes = {{"MelWeightMatrix", {"bands", "length", "rate", "low", "high"}, {"y"}}},
                  .inputs = {},
                  .outputs = {MessageWriter().text(1, "y")},
                  .initializers = {number("bands", 65'536), number("length", 65'536), number("rate", 16'000),
                                   onnx_tensor("low", {}, std::vector<float>{0}),
                                   onnx_tensor("high", {}, std::vector<float>{8000})}},
                 17);
  CHECK(error_of(mel) ==
        fmt::format("onnx 'm': 1 part cannot be imported:\n  graph.node[0] (MelWeightMatrix ''): computes 2147549184 "
                    "elements while the model is imported, expected at most {} in a file of this size [ai.onnx 17]",
                    (std::size_t{1} << 23) + mel.bytes().size()));
  const std::string zeros(1 << 20, '\0');
  const MessageWriter nonzero =
      onnx_model({.nodes = {{"NonZero", {"c"}, {"y"}}},
                  .inputs = {},
                  .outputs = {MessageWriter().text(1, "y")},
                  .initializers = {onnx_tensor("c", kOnnxBool, {1 << 20, 1, 1, 1, 1, 1, 1, 1}, zeros)}});
  CHECK(error_of(nonzero) == "");
  MessageWriter twice =
      onnx_model({.nodes = {{"NonZero", {"c"}, {"y"}}, {"NonZero", {"c"}, {"z"}}},
                  .inputs = {},
                  .outputs = {MessageWriter().text(1, "y"), MessageWriter().text(1, "z")},
                  .initializers = {onnx_tensor("c", kOnnxBool, {1 << 20, 1, 1, 1, 1, 1, 1, 1}, zeros)}});
  CHECK(error_of(twice).starts_with(
      "onnx 'm': 1 part cannot be imported:\n  graph.node[1] (NonZero ''): computes 9437184 elements while the model "
      "is imported, expected at most "));
}

}  // namespace millrace
