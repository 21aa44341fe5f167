// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"

namespace millrace {
namespace {

std::string error_of(const MessageWriter& model) { return import_onnx("m", model.file()).status().message(); }

/// A shape that is computed from dims.
MessageWriter shape_model() {
  return onnx_model({.nodes = {{"Shape", {"x"}, {"s"}},
                               {"Gather", {"s", "zero"}, {"n"}},
                               {"Concat", {"n", "minus"}, {"t"}, {onnx_int("axis", 0)}},
                               {"Reshape", {"x", "t"}, {"y"}, {}, "/block/Reshape"}},
                     .inputs = {onnx_value("x", kOnnxFloat, {"n", 8})},
                     .outputs = {onnx_value("y", kOnnxFloat, {"n", 8})},
                     .initializers = {onnx_tensor("zero", {1}, std::vector<std::int64_t>{0}),
                                      onnx_tensor("minus", {1}, std::vector<std::int64_t>{-1})}});
}

MessageWriter function_of(std::string_view name, const std::vector<TestNode>& nodes) {
  MessageWriter function = MessageWriter().text(1, name).text(4, "a").text(5, "b").text(10, "f");
  for (const TestNode& node : nodes) function.message(7, encode(node));
  function.message(9, MessageWriter().text(1, "").integer(2, 18));
  return function.message(9, MessageWriter().text(1, "f").integer(2, 1));
}

/// A model whose one node calls the first of these functions.
MessageWriter function_model(const std::vector<MessageWriter>& functions) {
  MessageWriter model = MessageWriter().integer(1, 8).message(8, MessageWriter().text(1, "f").integer(2, 1));
  model.message(8, MessageWriter().text(1, "").integer(2, 18));
  for (const MessageWriter& function : functions) model.message(25, function);
  return model.message(7, encode(TestGraph{.nodes = {{"F0", {"x"}, {"y"}, {}, "call", "f"}},
                                           .inputs = {onnx_value("x", kOnnxFloat, {8})},
                                           .outputs = {onnx_value("y", kOnnxFloat, {8})}}));
}

MessageWriter call_model() { return function_model({function_of("F0", {{"Exp", {"a"}, {"b"}}})}); }

MessageWriter branch_model() {
  const auto branch = [](const std::string& op) {
    return encode(
        TestGraph{.nodes = {{op, {"x"}, {"r"}}}, .inputs = {}, .outputs = {onnx_value("r", kOnnxFloat, {8})}});
  };
  return onnx_model(
      {.nodes =
           {{"If", {"c"}, {"y"}, {onnx_graph("then_branch", branch("Exp")), onnx_graph("else_branch", branch("Neg"))}}},
       .inputs = {onnx_value("x", kOnnxFloat, {8}), onnx_value("c", kOnnxBool, {})},
       .outputs = {onnx_value("y", kOnnxFloat, {8})}});
}

std::vector<MessageWriter> models() { return {shape_model(), call_model(), branch_model()}; }

/// The messages one inside the other, from the outside in, each the field of that number. The innermost is empty.
MessageWriter nested(const std::vector<std::uint32_t>& numbers) {
  std::vector<std::string> heads;
  std::size_t size = 0;
  for (std::size_t i = numbers.size(); i-- > 0;) {
    heads.push_back(MessageWriter().tag(numbers[i], 2).varint(size).bytes());
    size += heads.back().size();
  }
  MessageWriter message;
  for (std::size_t i = heads.size(); i-- > 0;) message.raw(heads[i]);
  return message;
}

}  // namespace

TEST_CASE("ONNX: the models whose bytes are damaged below can be imported") {
  for (const MessageWriter& model : models()) CHECK(import_onnx("m", model.file()).status().message() == "");
}

TEST_CASE("ONNX: each truncation of a file is refused") {
  for (const MessageWriter& model : models()) {
    for (std::size_t size = 0; size < model.bytes().size(); ++size) {
      CAPTURE(size);
      const std::string error = error_of(MessageWriter().raw(model.bytes().substr(0, size)));
      CHECK(error.starts_with("onnx 'm': "));
    }
  }
}

TEST_CASE("ONNX: a file with damaged bytes gives an error or a valid graph") {
  constexpr int kNumMutants = 2000;  // fuzz_onnx goes on from there
  std::mt19937 random(1);
  for (const MessageWriter& model : models()) {
    for (int i = 0; i < kNumMutants; ++i) {
      std::string bytes = model.bytes();
      for (std::uint32_t k = 1 + random() % 4; k > 0; --k) {
        const std::size_t at = random() % bytes.size();
        switch (random() % 3) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes.erase(at, 1 + random() % 4);
            break;
          default:
            bytes.insert(at, 1, static_cast<char>(random()));
        }
        if (bytes.empty()) break;
      }
      CAPTURE(i);
      const Result<OnnxModel> imported = import_onnx("m", MessageWriter().raw(bytes).file());
      if (imported.ok()) CHECK(verify(imported->graph).message() == "");
      if (!imported.ok()) CHECK(imported.status().message().starts_with("onnx 'm': "));
    }
  }
}

TEST_CASE("ONNX: messages that are nested too deeply are refused") {
  std::vector<std::uint32_t> numbers = {7};  // graph, then node.attribute.g again and again
  for (int i = 0; i < 33'000; ++i) numbers.insert(numbers.end(), {1, 5, 6});
  std::string path = "graph";
  for (int depth = 2; depth <= 65; ++depth) {
    path += depth % 3 == 2 ? ".node[0]" : depth % 3 == 0 ? ".attribute[0]" : ".g";
  }
  const std::string whole = fmt::format("onnx 'm': {}: nested 65 levels deep, expected at most 64", path);
  CHECK(error_of(nested(numbers)) == whole);
  // Sequences of sequences, in the type of an input.
  numbers = {7, 11, 2};
  for (int i = 0; i < 50'000; ++i) numbers.insert(numbers.end(), {4, 1});
  CHECK(error_of(nested(numbers)).ends_with(": nested 65 levels deep, expected at most 64"));
}

TEST_CASE("ONNX: bodies and functions that are inside each other too deeply are refused") {
  // The graph that the call gives refers to itself, by the name that the function gives it.
  const std::vector<MessageWriter> branches = {onnx_reference("then_branch", "g", 5),
                                               onnx_reference("else_branch", "g", 5)};
  const MessageWriter yes =
      MessageWriter().text(1, "value").message(5, onnx_tensor("", kOnnxBool, {}, "\1")).integer(20, 4);
  const MessageWriter self =
      encode(TestGraph{.nodes = {{"Constant", {}, {"yes"}, {yes}}, {"If", {"yes"}, {"r"}, branches}},
                       .inputs = {},
                       .outputs = {onnx_value("r", kOnnxFloat, {8})}});
  MessageWriter function = function_of("F0", {{"Constant", {}, {"sure"}, {yes}}, {"If", {"sure"}, {"b"}, branches}});
  const MessageWriter model =
      MessageWriter()
          .integer(1, 8)
          .message(8, MessageWriter().text(1, "f").integer(2, 1))
          .message(8, MessageWriter().text(1, "").integer(2, 18))
          .message(25, function.text(6, "g"))
          .message(7, encode(TestGraph{.nodes = {{"F0", {"x"}, {"y"}, {onnx_graph("g", self)}, "call", "f"}},
                                       .inputs = {onnx_value("x", kOnnxFloat, {8})},
                                       .outputs = {onnx_value("y", kOnnxFloat, {8})}}));
  CHECK(error_of(model) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[0] (F0 'call').function 'F0'.node[1] (If '').attribute 'then_branch'.node[1] (If '').attribute "
        "'then_branch': refers to the attribute 'g' of a function, outside any function [ai.onnx 18]");
  // Each function calls the next one.
  std::vector<MessageWriter> functions;
  for (int i = 0; i < 1000; ++i) {
    functions.push_back(function_of(fmt::format("F{}", i), {{fmt::format("F{}", i + 1), {"a"}, {"b"}, {}, "", "f"}}));
  }
  const std::string error = error_of(function_model(functions));
  CHECK(
      error.ends_with(".node[0] (F64 ''): bodies and functions are nested 65 levels deep, expected at most 64 [f 1]"));
}

TEST_CASE("ONNX: a file of empty messages is refused before they fill the memory") {
  const auto with = [](std::string_view field, std::size_t count) {
    std::string attributes;
    for (std::size_t i = 0; i < count; ++i) attributes += field;
    return error_of(MessageWriter().message(7, MessageWriter().message(1, MessageWriter().raw(attributes))));
  };
  using namespace std::string_view_literals;
  constexpr std::size_t kCount = 100'000;
  CHECK(
      with("\x2a\x00"sv, kCount) ==
      "onnx 'm': graph.node[0]: field 'attribute': the messages take more than 32 times the 200008 bytes of the file; "
      "is it an ONNX model?");
  // Attributes with a name of one byte, a number and its type are the smallest that a model has.
  CHECK(with("\x2a\x08\x0a\x01p\x18\x00\xa0\x01\x02"sv, kCount) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[0] ( ''): the op is not supported [ai.onnx 1]");
}

TEST_CASE("ONNX: lengths and numbers that the file does not have are refused") {
  const std::uint64_t huge = std::uint64_t{1} << 63;
  CHECK(
      error_of(MessageWriter().tag(7, 2).varint(huge)) ==
      "onnx 'm': ModelProto: found a length of 9223372036854775808 bytes, but 0 are left; is it a complete ONNX file?");
  CHECK(error_of(MessageWriter().tag(1, 0).raw(std::string(10, '\xff')).varint(1)) ==
        "onnx 'm': ModelProto: a varint has more than 10 bytes; is it a complete ONNX file?");
  CHECK(error_of(MessageWriter().tag(1, 0).raw("\x80")) ==
        "onnx 'm': ModelProto: the message ends inside a varint; is it a complete ONNX file?");
  CHECK(error_of(MessageWriter().tag(0, 0).varint(1)) ==
        "onnx 'm': ModelProto: found the field number 0; is it a complete ONNX file?");
  CHECK(error_of(MessageWriter().tag(huge >> 20, 0).varint(1)) ==
        "onnx 'm': ModelProto: found the field number 8796093022208; is it a complete ONNX file?");
  CHECK(error_of(MessageWriter().tag(7, 3)) ==
        "onnx 'm': ModelProto: field 7 has wire type 3, expected 0, 1, 2 or 5; is it a complete ONNX file?");
  CHECK(error_of(MessageWriter().tag(7, 5).raw("ab")) ==
        "onnx 'm': ModelProto: 2 bytes are left, expected a number of 4 bytes; is it a complete ONNX file?");
  CHECK(error_of(MessageWriter().integer(7, 1)) == "onnx 'm': field 'graph' is a varint, expected bytes with a length");
  CHECK(error_of(MessageWriter().integer(1, 8).integer(1, 8)) ==
        "onnx 'm': field 'ir_version' occurs twice, expected once");
  CHECK(error_of(MessageWriter().integer(1, 8)) == "onnx 'm': has no graph; is it an ONNX model?");
}

TEST_CASE("ONNX: dims that overflow are refused") {
  const auto with_constant = [](const std::vector<std::int64_t>& dims) {
    return error_of(onnx_model({.nodes = {{"Identity", {"c"}, {"y"}}},
                                .inputs = {},
                                .outputs = {onnx_value("y", kOnnxFloat, {1})},
                                .initializers = {onnx_tensor("c", kOnnxFloat, dims, "abcd")}}));
  };
  const std::string first = "onnx 'm': 1 part cannot be imported:\n  graph.initializer[0] 'c': ";
  CHECK(with_constant({std::int64_t{1} << 32, std::int64_t{1} << 32}) ==
        first + "the shape has more than 2^48 elements");
  CHECK(with_constant({-1}) == first + "found a dim of -1, expected 0 or more");
  CHECK(with_constant({1, 1, 1, 1, 1, 1, 1, 1, 1}) == first + "rank 9, expected at most 8");
  CHECK(with_constant({2}) == first + "holds 4 bytes of elements, expected 8 for f32[2]; is the file complete?");
  const MessageWriter sparse = MessageWriter()
                                   .message(1, onnx_tensor("c", {1}, std::vector<float>{1}))
                                   .message(2, onnx_tensor("", {1}, std::vector<std::int64_t>{0}))
                                   .integer(3, std::int64_t{1} << 40);
  const MessageWriter model =
      MessageWriter()
          .message(8, MessageWriter().integer(2, 18))
          .message(7, encode(TestGraph{.nodes = {}, .inputs = {}, .outputs = {onnx_value("c", kOnnxFloat, {1})}})
                          .message(15, sparse));
  CHECK(
      error_of(model).starts_with("onnx 'm': 1 part cannot be imported:\n  graph.sparse_initializer[0] 'c': has "
                                  "1099511627776 elements, expected at most 83"));
}

TEST_CASE("ONNX: cycles and names that are taken are refused") {
  CHECK(error_of(onnx_model({.nodes = {{"Exp", {"b"}, {"a"}}, {"Exp", {"a"}, {"b"}}},
                             .inputs = {},
                             .outputs = {onnx_value("b", kOnnxFloat, {1})}})) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[0] (Exp '').input[0]: 'b' is not the result of an earlier node [ai.onnx 18]");
  CHECK(error_of(onnx_model({.nodes = {{"Exp", {"x"}, {"y"}}, {"Neg", {"x"}, {"y"}}},
                             .inputs = {onnx_value("x", kOnnxFloat, {1})},
                             .outputs = {onnx_value("y", kOnnxFloat, {1})}})) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[1] (Neg '').output[0]: 'y' is the name of an earlier value [ai.onnx 18]");
  const MessageWriter constant = onnx_tensor("c", {1}, std::vector<float>{1});
  CHECK(error_of(onnx_model({.nodes = {},
                             .inputs = {},
                             .outputs = {onnx_value("c", kOnnxFloat, {1})},
                             .initializers = {constant, constant}})) ==
        "onnx 'm': 1 part cannot be imported:\n  graph.initializer[1] 'c': the name is taken");
  CHECK(error_of(onnx_model({.nodes = {}, .inputs = {}, .outputs = {onnx_value("y", kOnnxFloat, {1})}})) ==
        "onnx 'm': 1 part cannot be imported:\n  graph.output[0] 'y': is not the result of any node");
}

TEST_CASE("ONNX: functions that call themselves, or call too many, are refused") {
  CHECK(error_of(function_model({function_of("F0", {{"F0", {"a"}, {"b"}, {}, "again", "f"}})})) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[0] (F0 'call').function 'F0'.node[0] (F0 'again'): the function 'F0' calls itself [f 1]");
  // Each calls the next one twice.
  std::vector<MessageWriter> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = fmt::format("F{}", i + 1);
    functions.push_back(
        function_of(fmt::format("F{}", i), {{next, {"a"}, {"c"}, {}, "", "f"}, {next, {"c"}, {"b"}, {}, "", "f"}}));
  }
  functions.push_back(function_of("F40", {{"Neg", {"a"}, {"b"}}}));
  const MessageWriter model = function_model(functions);
  const std::string error = error_of(model);
  CAPTURE(error);
  CHECK(
      error.starts_with("onnx 'm': 1 part cannot be imported:\n"
                        "  graph.node[0] (F0 'call').function 'F0'.node[0] (F1 '').function 'F1'.node[0] (F2 '')"));
  CHECK(error.ends_with(fmt::format(
      ": found more than {} nodes, counting those of functions and bodies once per use; a file of this size "
      "may have no more",
      100'000 + model.bytes().size() / 8)));
  functions.assign(1, function_of("F0", {}));
  functions.push_back(functions[0]);
  CHECK(error_of(function_model(functions)) == "onnx 'm': the function 'F0' is defined twice");
}

}  // namespace millrace
