// SPDX-License-Identifier: Apache-2.0
#include "graph/text/call_example.h"

#include <fmt/format.h>

#include "millrace/base/check.h"

namespace millrace {
namespace {

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(", ");
    parts.push_back(text.substr(0, end));
    text = end == text.npos ? "" : text.substr(end + 2);
  }
  return parts;
}

}  // namespace

CallExample parse_call_example(std::string_view text) {
  const std::size_t equals = text.find(" = "), open = text.find('('), close = text.find(')');
  MILLRACE_CHECK(equals < open && open < close && close != text.npos);
  CallExample call;
  call.results = split_list(text.substr(0, equals));
  call.called = text.substr(equals + 3, open - equals - 3);
  for (const std::string_view operand : split_list(text.substr(open + 1, close - open - 1))) {
    const std::size_t colon = operand.find(": ");
    MILLRACE_CHECK(colon != operand.npos);
    call.operands.push_back({operand.substr(0, colon), operand.substr(colon + 2)});
  }
  if (close + 2 < text.size()) call.attributes = text.substr(close + 2);
  return call;
}

std::string graph_text(const CallExample& call) {
  std::string inputs, results, operands, outputs;
  for (const auto& [name, type] : call.operands) {
    inputs += fmt::format("{}{}: {}", inputs.empty() ? "" : ", ", name, type);
    operands += fmt::format("{}{}", operands.empty() ? "" : ", ", name);
  }
  for (const std::string_view result : call.results) {
    results += fmt::format("{}{}", results.empty() ? "" : ", ", result);
    outputs += fmt::format("{} {} = {}", outputs.empty() ? "" : ",", result.substr(1), result);
  }
  return fmt::format("graph example({}) {{\n  {} = {}({}){}{}\n  return{}\n}}\n", inputs, results, call.called,
                     operands, call.attributes.empty() ? "" : " ", call.attributes, outputs);
}

}  // namespace millrace
