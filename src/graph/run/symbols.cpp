// SPDX-License-Identifier: Apache-2.0
// Symbols get their values from the extents of inputs, or by name; then every promise is checked.
#include "graph/run/symbols.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/size_expr/promise_text.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

std::string extents_text(const Extents& extents) {
  std::string text;
  for (std::size_t d = 0; d < std::min(extents.rank(), kMaxRank); ++d) {
    text += fmt::format("{}{}", d == 0 ? "" : "x", extents[d]);
  }
  return "[" + text + (extents.rank() > kMaxRank ? "x..." : "") + "]";
}

/// The values of the symbols in `size`: " with n = 3, m = 4".
std::string values_text(std::span<const SizeExpr> sizes, const SymbolValues& values) {
  std::map<std::string, Dim> symbols;
  for (const SizeExpr& size : sizes) {
    if (!size.collect_symbols(symbols).ok()) return "";
  }
  std::string text;
  for (const auto& [name, dim] : symbols) {
    const auto value = values.find(name);
    if (value != values.end()) text += fmt::format("{}{} = {}", text.empty() ? " with " : ", ", name, value->second);
  }
  return text;
}

Status check_fact(const Dim& dim, std::int64_t value, const std::string& who) {
  if (dim.allows(value)) return {};
  return invalid_argument(fmt::format("{} is {}, expected {}; keep the promise, or build the graph with another", who,
                                      value, promise_text(dim)));
}

Status bind_by_name(const SymbolTable& table, std::span<const DimBinding> dims, SymbolValues& values) {
  for (const ProgramSymbol& symbol : table.symbols) {
    if (symbol.input) continue;
    const auto given = std::ranges::find(dims, symbol.dim.name(), &DimBinding::name);
    if (given == dims.end() && is_pinned(symbol.dim)) {
      values[symbol.dim.name()] = symbol.dim.min();
      continue;
    }
    if (given == dims.end()) {
      return invalid_argument(fmt::format("dim '{}' has no value, expected {}; bind it by name", symbol.dim.name(),
                                          promise_text(symbol.dim)));
    }
    MILLRACE_TRY(check_fact(symbol.dim, given->value, fmt::format("dim '{}'", given->name)));
    values[symbol.dim.name()] = given->value;
  }
  return {};
}

/// Checks that each name is given once, and that no input's extent determines it.
Status check_names(const SymbolTable& table, std::span<const Argument> inputs, std::span<const DimBinding> dims) {
  for (auto given = dims.begin(); given != dims.end(); ++given) {
    const auto symbol = std::ranges::find_if(
        table.symbols, [&](const ProgramSymbol& known) { return known.dim.name() == given->name; });
    if (symbol == table.symbols.end()) {
      return not_found(
          fmt::format("dim '{}' is bound, and the program has no such symbol; leave it out", printable(given->name)));
    }
    if (symbol->input) {
      return invalid_argument(
          fmt::format("dim '{}' is bound by name, and input '{}' tells it by its dim {}; leave it out", given->name,
                      printable(inputs[*symbol->input].name), symbol->axis));
    }
    if (std::find_if(dims.begin(), given, [&](const DimBinding& d) { return d.name == given->name; }) != given) {
      return invalid_argument(fmt::format("dim '{}' is bound twice, expected once; leave one out", given->name));
    }
  }
  return {};
}

Status check_extents(const Argument& input, const Extents& extents, const SymbolValues& values) {
  for (std::size_t d = 0; d < extents.rank(); ++d) {
    MILLRACE_TRY_ASSIGN(const std::int64_t expected, input.type.shape[d].evaluate(values));
    if (extents[d] == expected) continue;
    return invalid_argument(fmt::format("input '{}' is {}, expected {} in dim {} of {}{}; bind tensors that agree",
                                        printable(input.name), extents_text(extents), expected, d, input.type.to_text(),
                                        values_text(std::span(&input.type.shape[d], 1), values)));
  }
  return {};
}

Status check_requirement(const NodeRequirement& needed, const SymbolValues& values) {
  const auto& [small, large] = needed.requirement;
  MILLRACE_TRY_ASSIGN(const std::int64_t low, small.evaluate(values));
  MILLRACE_TRY_ASSIGN(const std::int64_t high, large.evaluate(values));
  if (low <= high) return {};
  return invalid_argument(fmt::format("{} needs {} <= {}, found {} and {}{}; bind other sizes", needed.node,
                                      small.to_text(), large.to_text(), low, high,
                                      values_text(std::array{small, large}, values)));
}

}  // namespace

Status bind_symbols(const SymbolTable& table, std::span<const Argument> inputs, std::span<const Extents> extents,
                    std::span<const DimBinding> dims, SymbolValues& values) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (extents[i].rank() == inputs[i].type.shape.rank()) continue;
    return invalid_argument(fmt::format("input '{}' is {}, expected rank {} for {}; bind a tensor of that rank",
                                        printable(inputs[i].name), extents_text(extents[i]),
                                        inputs[i].type.shape.rank(), inputs[i].type.to_text()));
  }
  for (const ProgramSymbol& symbol : table.symbols) {
    if (!symbol.input) continue;
    const std::int64_t value = extents[*symbol.input][symbol.axis];
    if (!symbol.dim.allows(value)) {
      return check_fact(symbol.dim, value,
                        fmt::format("input '{}': dim {}", printable(inputs[*symbol.input].name), symbol.axis));
    }
    values[symbol.dim.name()] = value;
  }
  MILLRACE_TRY(check_names(table, inputs, dims));
  MILLRACE_TRY(bind_by_name(table, dims, values));
  for (std::size_t i = 0; i < inputs.size(); ++i) MILLRACE_TRY(check_extents(inputs[i], extents[i], values));
  for (const NodeRequirement& needed : table.requirements) MILLRACE_TRY(check_requirement(needed, values));
  return {};
}

Result<TensorType> bind_type(const TensorType& type, const SymbolValues& values) {
  TensorType bound = type;
  for (std::size_t d = 0; d < type.shape.rank(); ++d) {
    MILLRACE_TRY_ASSIGN(const std::int64_t extent, type.shape[d].evaluate(values));
    bound.shape[d] = extent;
  }
  return bound;
}

}  // namespace millrace
