// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/graph/onnx.h"
#include "millrace/graph/text.h"
#include "tests/graph/import/onnx/model_writer.h"

namespace millrace {
namespace {

std::string text_of(const MessageWriter& model, const OnnxOptions& options = {}) {
  return to_text(import_onnx("m", model.file(), options).value().graph);
}

std::string error_of(const MessageWriter& model, const OnnxOptions& options = {}) {
  return import_onnx("m", model.file(), options).status().message();
}

TEST_CASE("a node becomes the op of its name, and its results keep their names") {
  const MessageWriter model = onnx_model({.nodes = {{"Exp", {"x"}, {"y"}, {}, "/block/Exp"}},
                                          .inputs = {onnx_value("x", kOnnxFloat, {"batch", 8})},
                                          .outputs = {onnx_value("y", kOnnxFloat, {"batch", 8})}});
  CHECK(text_of(model) ==
        "graph main(%x: f32[batch, 8]) {\n"
        "  %block/y = exp(%x) : f32[batch, 8]\n"
        "  return y = %block/y\n"
        "}\n");
}

TEST_CASE("a shape that is computed from dims needs no tensor") {
  const MessageWriter model = onnx_model({.nodes = {{"Shape", {"x"}, {"s"}},
                                                    {"Gather", {"s", "zero"}, {"n"}},
                                                    {"Mul", {"n", "four"}, {"m"}},
                                                    {"Concat", {"m", "minus"}, {"t"}, {onnx_int("axis", 0)}},
                                                    {"Reshape", {"x", "t"}, {"y"}}},
                                          .inputs = {onnx_value("x", kOnnxFloat, {"n", 8})},
                                          .outputs = {onnx_value("y", kOnnxFloat, {"", 2})},
                                          .initializers = {onnx_tensor("zero", {1}, std::vector<std::int64_t>{0}),
                                                           onnx_tensor("four", {1}, std::vector<std::int64_t>{4}),
                                                           onnx_tensor("minus", {1}, std::vector<std::int64_t>{-1})}});
  const OnnxModel imported = import_onnx("m", model.file()).value();
  CHECK(imported.graph.nodes.size() == 2);
  CHECK(imported.graph.type(imported.graph.outputs[0].value).to_text() == "f32[4*n, 2]");
}

TEST_CASE("one error lists every node that cannot be imported") {
  const MessageWriter model = onnx_model({.nodes = {{"Foo", {"x"}, {"a"}, {}, "f"},
                                                    {"Exp", {"a"}, {"b"}},
                                                    {"Exp", {"x"}, {"c"}, {onnx_int("fast", 1)}, "e"},
                                                    {"Bar", {"x"}, {"d"}, {}, "g", "com.example"},
                                                    {"Exp", {"nowhere"}, {"y"}}},
                                          .inputs = {onnx_value("x", kOnnxFloat, {8})},
                                          .outputs = {onnx_value("y", kOnnxFloat, {8})}});
  CHECK(error_of(model) ==
        "onnx 'm': 4 parts cannot be imported:\n"
        "  graph.node[0] (Foo 'f'): the op is not supported [ai.onnx 18]\n"
        "  graph.node[2] (Exp 'e').attribute 'fast': is not an attribute of Exp in version 18 [ai.onnx 18]\n"
        "  graph.node[3] (Bar 'g'): the model imports no version of the domain com.example [com.example 0]\n"
        "  graph.node[4] (Exp '').input[0]: 'nowhere' is not the result of an earlier node [ai.onnx 18]");
}

TEST_CASE("a field that onnx.proto does not have is refused by message and number") {
  const MessageWriter model = onnx_model({{}, {}, {}});
  CHECK(error_of(MessageWriter(model).integer(99, 1)) ==
        "onnx 'm': ModelProto has no field 99 in onnx 1.23; is it an ONNX file, perhaps of a later version?");
}

}  // namespace
}  // namespace millrace
