// SPDX-License-Identifier: Apache-2.0
// Describes how texts call ops and composites, from the tables that the parser uses.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/text/near_name.h"
#include "graph/text/composites.h"
#include "millrace/base/printable.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"
#include "ops/attributes_text.h"
#include "ops/call_example.h"

namespace millrace {
namespace {

/// A graph that returns each of the call's results under its name.
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

std::vector<AttributeForm> attribute_forms(Op op) {
  std::vector<AttributeForm> forms;
  Attributes attributes = default_attributes(op);
  const std::span<const std::string_view> required = required_attributes(attributes);
  const auto add = [&](std::string_view name, const auto& field) {
    const bool is_required = std::ranges::find(required, name) != required.end();
    forms.push_back({std::string(name), is_required ? "" : FieldText()(field)});
  };
  std::visit([&](auto& fields) { fields.visit(add); }, attributes);
  return forms;
}

/// "%y, ... = split(%x) {sizes, axis}".
std::string call_text(const CallExample& example, OperandCount count, bool returns_list,
                      std::span<const AttributeForm> attributes) {
  std::string results, operands, settings;
  for (const std::string_view result : example.results) {
    results += fmt::format("{}{}", results.empty() ? "" : ", ", result);
  }
  for (std::size_t i = 0; i < example.operands.size(); ++i) {
    const bool is_optional = count.maximum != SIZE_MAX && i >= count.minimum;
    operands += fmt::format("{}{}{}{}", i == 0 ? "" : ", ", is_optional ? "[" : "", example.operands[i].name,
                            is_optional ? "]" : "");
  }
  for (const AttributeForm& form : attributes) {
    settings += fmt::format("{}{}{}{}", settings.empty() ? " {" : ", ", form.name,
                            form.default_text.empty() ? "" : " = ", form.default_text);
  }
  return fmt::format("{}{} = {}({}{}){}{}", results, returns_list ? ", ..." : "", example.called, operands,
                     count.maximum == SIZE_MAX ? ", ..." : "", settings, settings.empty() ? "" : "}");
}

OperationForm form_of(Op op) {
  const OpInfo& row = info(op);
  const std::string text = call_example_text(op);
  const CallExample example = parse_call_example(text);
  std::vector<AttributeForm> attributes = attribute_forms(op);
  std::string call = call_text(example, operand_count(op), false, attributes);
  return {.name = std::string(row.name),
          .attributes = std::move(attributes),
          .call = std::move(call),
          .meaning = std::string(row.meaning),
          .example = graph_text(example)};
}

OperationForm form_of(const CompositeRow& row) {
  const CallExample example = parse_call_example(row.example);
  std::vector<AttributeForm> attributes = row.attributes(row);
  std::string call = call_text(example, row.operands, row.returns_list, attributes);
  return {.name = std::string(row.name),
          .is_composite = true,
          .attributes = std::move(attributes),
          .call = std::move(call),
          .meaning = std::string(row.meaning),
          .example = graph_text(example)};
}

}  // namespace

std::vector<OperationForm> operation_forms() {
  std::vector<OperationForm> forms;
  for (const Op op : kAllOps) {
    forms.push_back(form_of(op));
    if (const CompositeRow* row = find_composite(to_text(op)); row != nullptr) forms.push_back(form_of(*row));
  }
  for (const CompositeRow& row : composite_rows()) {
    if (std::ranges::find(forms, row.name, &OperationForm::name) == forms.end()) forms.push_back(form_of(row));
  }
  return forms;
}

Result<std::vector<OperationForm>> operation_forms(std::string_view name) {
  return guard_allocations([&]() -> Result<std::vector<OperationForm>> {
    std::vector<OperationForm> forms = operation_forms();
    NearName near(name);
    for (const OperationForm& form : forms) near.consider(form.name);
    std::erase_if(forms, [&](const OperationForm& form) { return form.name != name; });
    if (!forms.empty()) return forms;
    return not_found(
        fmt::format("unknown op '{}'; {}", printable(name.substr(0, 64)), near.remedy("'millrace ops' lists all")));
  });
}

}  // namespace millrace
