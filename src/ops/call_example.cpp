// SPDX-License-Identifier: Apache-2.0
// Parses the example calls of the op table, which give the names of operands for messages.
#include "ops/call_example.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guard_allocations.h"
#include "millrace/base/check.h"
#include "millrace/ops/op_def.h"

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

std::string call_example_text(Op op) {
  if (!info(op).example.empty()) return std::string(info(op).example);
  const auto is_taken = [&](DType dtype) {
    const std::vector<TensorType> operands(static_cast<std::size_t>(info(op).num_operands), {dtype, {8}});
    return unguarded(infer_types(op, operands, NoAttrs{})).ok();
  };
  const std::string_view dtype = to_text(is_taken(DType::kF32) ? DType::kF32 : DType::kBool);
  if (info(op).num_operands == 1) return fmt::format("%y = {}(%x: {}[4x8])", to_text(op), dtype);
  return fmt::format("%z = {}(%x: {}[4x8], %y: {}[8])", to_text(op), dtype, dtype);
}

OperandCount operand_count(Op op) {
  const int count = info(op).num_operands;
  if (count < 0) return {1, SIZE_MAX};
  return {static_cast<std::size_t>(count), static_cast<std::size_t>(count)};
}

std::string operand_count_problem(const CallExample& call, OperandCount count, std::size_t found) {
  if (count.contains(found)) return {};
  std::string expected = fmt::format("{}", count.minimum), shown;
  if (count.maximum == SIZE_MAX) {
    expected += " or more";
  } else if (count.maximum > count.minimum) {
    expected += fmt::format(" to {}", count.maximum);
  }
  std::vector<std::string_view> missing;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const std::string_view name = call.operands[i].name.substr(1);
    const bool is_optional = i >= count.minimum && count.maximum != SIZE_MAX;
    shown += fmt::format("{}{}{}{}", i == 0 ? "" : ", ", is_optional ? "[" : "", name, is_optional ? "]" : "");
    if (i >= found && i < count.minimum) missing.push_back(name);
  }
  if (count.maximum == SIZE_MAX) shown += ", ...";
  if (!shown.empty()) shown = fmt::format(" ({})", shown);
  std::string remedy = fmt::format("pass the missing {}", fmt::join(missing, ", "));
  if (found > count.maximum) {
    remedy =
        found - count.maximum == 1 ? "leave out the last" : fmt::format("leave out the last {}", found - count.maximum);
  }
  return fmt::format("{} operand{}, expected {}{}; {}", found, found == 1 ? "" : "s", expected, shown, remedy);
}

}  // namespace millrace
