// SPDX-License-Identifier: Apache-2.0
// `millrace ops`: describes ops and composites from the tables of the library.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "millrace/base/indent.h"
#include "millrace/graph/text.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"

namespace millrace::tool {
namespace {

Status ops(const std::string& name) {
  std::string text;
  if (name.empty()) {
    for (const OperationForm& form : operation_forms()) text += fmt::format("{}\n    {}\n", form.call, form.meaning);
    return write_text("", text);
  }
  const Result<std::vector<OperationForm>> forms = operation_forms(name);
  if (!forms.ok()) return {forms.status().code(), "ops: " + forms.status().message()};
  for (const OperationForm& form : *forms) {
    text += fmt::format("{}{}\n    {}\n\n{}", text.empty() ? "" : "\n", form.call, form.meaning,
                        indented(form.example, "    "));
  }
  return write_text("", text);
}

}  // namespace

Action add_ops(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("NAME", *name, "Describe only this op or composite, with an example.")->type_name("");
  return [name] { return ops(*name); };
}

}  // namespace millrace::tool
