// SPDX-License-Identifier: Apache-2.0
// The lists of ops and composites for people: their forms are those that the parser takes.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/graph/text.h"
#include "millrace/ops/op.h"
#include "tests/support/golden.h"
#include "tests/support/graphs/round_trip.h"

namespace millrace {
namespace {

/// The example with `attributes` in place of its own.
std::string with_given(const std::string& example, const std::string& attributes) {
  const std::size_t call = example.find(" = "), end = example.find("\n  return");
  const std::size_t close = example.find(')', call);
  return example.substr(0, close + 1) + " {" + attributes + "}" + example.substr(end);
}

/// "k = 3, axis = 1", or empty.
std::string given_attributes(const std::string& example) {
  const std::size_t open = example.find('{', example.find(" = ")), close = example.find("}\n  return");
  return close == example.npos ? "" : example.substr(open + 1, close - open - 1);
}

/// Divides "sizes = [3, 5], axis = 1" after the lists.
std::vector<std::string> attribute_parts(const std::string& attributes) {
  std::vector<std::string> parts;
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const char c = attributes[i];
    if (c == '"') is_quoted = !is_quoted;
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (parts.empty()) parts.emplace_back();
    if (c == ',' && depth == 0 && !is_quoted) {
      parts.emplace_back();
      ++i;
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string joined_parts(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// The text that is read, or the message about it, without the line that has the mistake.
std::string reading_of(const std::string& text) {
  const Result<Graph> graph = parse_graph(text);
  if (graph.ok()) return to_text(*graph);
  const std::string& message = graph.status().message();
  return message.substr(0, message.find('\n'));
}

TEST_CASE("every example is read and verified, comes back from its text, and calls its op or composite") {
  for (const OperationForm& form : operation_forms()) {
    CAPTURE(form.name);
    CHECK(form.call.find(" = " + form.name + "(") != form.call.npos);
    CHECK(form.example.find(" = " + form.name + "(") != form.example.npos);
    CHECK(form.meaning != "");
    const Result<Graph> graph = parse_graph(form.example);
    REQUIRE_MESSAGE(graph.ok(), graph.status().message());
    CHECK(round_trip_problem(*graph) == "");
  }
}

TEST_CASE("the example of an op makes that op") {
  for (const OperationForm& form : operation_forms()) {
    if (form.is_composite) continue;
    CAPTURE(form.name);
    const Graph graph = parse_graph(form.example).value();
    CHECK(std::ranges::any_of(graph.nodes, [&](const Node& node) {
      const auto* op = std::get_if<OpNode>(&node.what);
      return op != nullptr && to_text(op->op) == form.name;
    }));
  }
}

TEST_CASE("a printed default value is the value that holds without it") {
  for (const OperationForm& form : operation_forms()) {
    std::vector<std::string> given = attribute_parts(given_attributes(form.example));
    for (const AttributeForm& attribute : form.attributes) {
      if (attribute.default_text.empty() || attribute.is_in_words) continue;
      CAPTURE(form.name);
      CAPTURE(attribute.name);
      std::vector<std::string> without = given;
      std::erase_if(without, [&](const std::string& part) { return part.starts_with(attribute.name + " ="); });
      std::vector<std::string> with = without;
      with.push_back(attribute.name + " = " + attribute.default_text);
      CHECK(reading_of(with_given(form.example, joined_parts(with))) ==
            reading_of(with_given(form.example, joined_parts(without))));
    }
  }
}

TEST_CASE("an attribute that is printed without a default value must be given") {
  for (const OperationForm& form : operation_forms()) {
    for (const AttributeForm& attribute : form.attributes) {
      std::vector<std::string> given = attribute_parts(given_attributes(form.example));
      const auto num_removed =
          std::erase_if(given, [&](const std::string& part) { return part.starts_with(attribute.name + " ="); });
      CAPTURE(form.name);
      CAPTURE(attribute.name);
      const std::string message = ": " + form.name + ": expected " + attribute.name + "; give it in braces";
      CHECK(reading_of(with_given(form.example, joined_parts(given))).ends_with(message) ==
            attribute.default_text.empty());
      if (attribute.default_text.empty()) CHECK(num_removed == 1);
    }
  }
}

TEST_CASE("ops and composites are listed as they are called") {
  std::string text;
  for (const OperationForm& form : operation_forms()) text += form.call + "\n    " + form.meaning + "\n";
  CHECK(test::golden_problem("operation_forms.txt", text) == "");
}

TEST_CASE("an op asked for by name comes with its namesake, or with the name that was meant") {
  const std::vector<OperationForm> both = operation_forms("topk").value();
  REQUIRE(both.size() == 2);
  CHECK(both[0].call == "%values, %indices = topk(%x) {k = 1, axis = -1, largest = true, sorted = true}");
  CHECK(both[1].call == "%values, %indices = topk(%x, %carried) {k = 1, axis = -1, largest = true, sorted = true}");
  CHECK(operation_forms("layer_norm").value()[0].example ==
        "graph example(%x: f32[4x8], %scale: f32[8], %bias: f32[8]) {\n"
        "  %y = layer_norm(%x, %scale, %bias)\n"
        "  return y = %y\n"
        "}\n");
  const Status near = operation_forms("sofmax").status();
  CHECK(near.code() == StatusCode::kNotFound);
  CHECK(near.message() == "unknown op 'sofmax'; did you mean 'softmax'?");
  CHECK(operation_forms("convolution_transpose").status().message() ==
        "unknown op 'convolution_transpose'; 'millrace ops' lists all");
  CHECK(operation_forms(std::string(100000, 'x')).status().message() ==
        "unknown op '" + std::string(64, 'x') + "'; 'millrace ops' lists all");
}

}  // namespace
}  // namespace millrace
