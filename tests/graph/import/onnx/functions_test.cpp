// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/graph/onnx.h"
#include "millrace/graph/text.h"
#include "tests/graph/import/onnx/model_writer.h"

namespace millrace {
namespace {

/// A function with the name Scale, of the domain f, with one operand and one result.
struct TestFunction {
  std::vector<TestNode> nodes;
  std::vector<std::string> attributes = {};
  std::vector<MessageWriter> defaults = {};
  std::string overload = "";
};

MessageWriter encode(const TestFunction& function) {
  MessageWriter message = MessageWriter().text(1, "Scale").text(4, "a").text(5, "b").text(10, "f");
  for (const std::string& attribute : function.attributes) message.text(6, attribute);
  for (const MessageWriter& attribute : function.defaults) message.message(11, attribute);
  for (const TestNode& node : function.nodes) message.message(7, millrace::encode(node));
  message.message(9, MessageWriter().text(1, "").integer(2, 18));
  return function.overload.empty() ? message : message.text(13, function.overload);
}

MessageWriter model_of(const std::vector<TestFunction>& functions, TestNode call) {
  MessageWriter model = MessageWriter().integer(1, 10).message(8, MessageWriter().text(1, "f").integer(2, 1));
  model.message(8, MessageWriter().text(1, "").integer(2, 18));
  for (const TestFunction& function : functions) model.message(25, encode(function));
  return model.message(7, millrace::encode(TestGraph{.nodes = {std::move(call)},
                                                     .inputs = {onnx_value("x", kOnnxFloat, {2, 3})},
                                                     .outputs = {onnx_value("y", kOnnxFloat, {"", ""})}}));
}

/// The type of the output, or the error.
std::string type_of(const MessageWriter& model) {
  const Result<OnnxModel> imported = import_onnx("m", model.file());
  if (!imported.ok()) return imported.status().message();
  return imported->graph.type(imported->graph.outputs[0].value).to_text();
}

/// Concatenates the operand with itself along the axis that the call gives.
const TestFunction kDouble = {.nodes = {{"Concat", {"a", "a"}, {"b"}, {onnx_reference("axis", "along", 2)}}},
                              .attributes = {"along"}};

}  // namespace

TEST_CASE("ONNX: a function takes the attributes of its call, or its defaults") {
  CHECK(type_of(model_of({kDouble}, {"Scale", {"x"}, {"y"}, {onnx_int("along", 0)}, "", "f"})) == "f32[4x3]");
  const TestFunction with_default = {.nodes = kDouble.nodes, .attributes = {}, .defaults = {onnx_int("along", 1)}};
  CHECK(type_of(model_of({with_default}, {"Scale", {"x"}, {"y"}, {}, "", "f"})) == "f32[2x6]");
  CHECK(type_of(model_of({with_default}, {"Scale", {"x"}, {"y"}, {onnx_int("along", 0)}, "", "f"})) == "f32[4x3]");
}

TEST_CASE("ONNX: a call chooses the function of its overload") {
  TestFunction rows = {.nodes = {{"Concat", {"a", "a"}, {"b"}, {onnx_int("axis", 0)}}}, .overload = "rows"};
  TestFunction columns = {.nodes = {{"Concat", {"a", "a"}, {"b"}, {onnx_int("axis", 1)}}}, .overload = "columns"};
  CHECK(type_of(model_of({rows, columns}, {"Scale", {"x"}, {"y"}, {}, "", "f", "rows"})) == "f32[4x3]");
  CHECK(type_of(model_of({rows, columns}, {"Scale", {"x"}, {"y"}, {}, "", "f", "columns"})) == "f32[2x6]");
}

TEST_CASE("ONNX: calls that do not fit their function are refused") {
  const std::string first = "onnx 'm': 1 part cannot be imported:\n  graph.node[0] (Scale 'call')";
  CHECK(type_of(model_of({kDouble}, {"Scale", {"x"}, {"y"}, {}, "call", "f"})) ==
        first + ".function 'Scale'.node[0] (Concat '').attribute 'axis': is missing, but Concat needs it [ai.onnx 18]");
  CHECK(type_of(model_of({kDouble}, {"Scale", {"x"}, {"y"}, {onnx_int("other", 0)}, "call", "f"})) ==
        first + ".attribute 'other': the function 'Scale' has no such attribute [f 1]");
  CHECK(type_of(model_of({kDouble}, {"Scale", {"x", "x"}, {"y"}, {onnx_int("along", 0)}, "call", "f"})) ==
        first + ": found 2 operands, but the function 'Scale' has 1 [f 1]");
  const TestFunction no_result = {.nodes = {{"Exp", {"a"}, {"c"}}}};
  CHECK(type_of(model_of({no_result}, {"Scale", {"x"}, {"y"}, {}, "call", "f"})) ==
        first + ".function 'Scale'.output[0]: 'b' is not the result of any node [f 1]");
}

TEST_CASE("ONNX: a graph that a call gives reads the values of the call's scope") {
  // The function has another value with the name x.
  const MessageWriter yes =
      MessageWriter().text(1, "value").message(5, onnx_tensor("", kOnnxBool, {}, "\1")).integer(20, 4);
  const MessageWriter graph = millrace::encode(
      TestGraph{.nodes = {{"Neg", {"x"}, {"r"}}}, .inputs = {}, .outputs = {onnx_value("r", kOnnxFloat, {"", ""})}});
  const TestFunction choose = {
      .nodes = {{"Concat", {"a", "a"}, {"x"}, {onnx_int("axis", 0)}},
                {"Constant", {}, {"yes"}, {yes}},
                {"If", {"yes"}, {"b"}, {onnx_reference("then_branch", "g", 5), onnx_reference("else_branch", "g", 5)}}},
      .attributes = {"g"}};
  CHECK(type_of(model_of({choose}, {"Scale", {"x"}, {"y"}, {onnx_graph("g", graph)}, "", "f"})) == "f32[2x3]");
}

TEST_CASE("ONNX: an attribute that refers to one of a function is refused outside functions") {
  const MessageWriter model =
      onnx_model({.nodes = {{"Concat", {"x", "x"}, {"y"}, {onnx_reference("axis", "along", 2)}}},
                  .inputs = {onnx_value("x", kOnnxFloat, {2, 3})},
                  .outputs = {onnx_value("y", kOnnxFloat, {"", ""})}});
  CHECK(type_of(model) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[0] (Concat '').attribute 'axis': refers to the attribute 'along' of a function, outside any "
        "function [ai.onnx 18]");
}

TEST_CASE("ONNX: a long list of errors joins the nodes of one op and one reason") {
  std::vector<TestNode> nodes;
  for (int i = 0; i < 20; ++i) nodes.push_back({"Foo", {"x"}, {"f" + std::to_string(i)}, {}, std::to_string(i)});
  nodes.push_back({"Bar", {"x"}, {"y"}, {}, "last"});
  const MessageWriter model = onnx_model({.nodes = std::move(nodes),
                                          .inputs = {onnx_value("x", kOnnxFloat, {1})},
                                          .outputs = {onnx_value("y", kOnnxFloat, {1})}});
  CHECK(type_of(model) ==
        "onnx 'm': 21 parts cannot be imported:\n"
        "  graph.node[0] (Foo '0'): the op is not supported [ai.onnx 18]; likewise graph.node[1] (Foo '1'), "
        "graph.node[2] (Foo '2'), graph.node[3] (Foo '3') and 16 more\n"
        "  graph.node[20] (Bar 'last'): the op is not supported [ai.onnx 18]");
}

}  // namespace millrace
