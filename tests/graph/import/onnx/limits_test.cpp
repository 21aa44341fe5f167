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
