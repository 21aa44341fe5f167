// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"

namespace millrace::tool {
namespace {

/// The op as a text writes it, with the attributes that it has when nothing is said; what it means. A list that the
/// operands' rank decides is [...], for there is nothing that it could be by itself.
///
///     %r0, %r1 = topk(%x) {k = 1, axis = -1, largest = true, sorted = true}
///         values, i64 indices of the k largest (smallest)
std::string describe(Op op) {
  constexpr std::string_view kOperands[] = {"", "%x", "%x, %y", "%x, %y, %z"};
  const OpInfo& row = info(op);
  const std::string_view operands = row.num_operands < 0 ? "%x, ..." : kOperands[row.num_operands];
  std::string attributes = to_text(default_attributes(op));
  for (std::size_t at = 0; (at = attributes.find("[]", at)) != std::string::npos;) attributes.insert(at + 1, "...");
  return fmt::format("{} = {}({}){}{}\n    {}\n", row.num_results == 1 ? "%r" : "%r0, %r1", row.name, operands,
                     attributes.empty() ? "" : " ", attributes, row.meaning);
}

/// Their attributes have no defaults here: a composite is a C++ function, whose comment says what it means.
std::string describe(const CompositeForm& composite) {
  return composite.form + "\n    a composite of ops; see millrace/graph/composites.h\n";
}

Status ops(const std::string& name) {
  std::string text;
  const auto is_wanted = [&](std::string_view each) { return name.empty() || name == each; };
  std::vector<std::string_view> names;
  const std::vector<CompositeForm> composites = composite_forms();
  for (const Op op : kAllOps) {
    names.push_back(to_text(op));
    if (!is_wanted(names.back())) continue;
    text += describe(op);
    for (const CompositeForm& composite : composites) {
      if (composite.name == names.back()) text += describe(composite);
    }
  }
  for (const CompositeForm& composite : composites) {
    const bool is_beside_op = std::ranges::find(names, composite.name) != names.end();
    if (is_wanted(composite.name) && !is_beside_op) text += describe(composite);
  }
  if (text.empty()) {
    return not_found(
        fmt::format("ops: '{}' is neither an op nor a composite; 'millrace ops' lists all", printable(name)));
  }
  return write_text("", text);
}

}  // namespace

Action add_ops(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("NAME", *name, "Describe this op or composite alone.")->type_name("");
  return [name] { return ops(*name); };
}

}  // namespace millrace::tool
