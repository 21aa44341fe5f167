// SPDX-License-Identifier: Apache-2.0
// Binds symbols from the extents of inputs, or by name, and checks every promise about them.
#include "graph/run/symbols.h"

#include <algorithm>
#include <map>
#include <utility>

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

Status check_fact(const Dim& dim, std::int64_t value, const std::string& who) {
  if (dim.allows(value)) return {};
  return invalid_argument(fmt::format("{} is {}, expected {}; keep the promise, or build the graph with other facts",
                                      who, value, promise_text(dim)));
}

/// Finds the dims that are bound by name. Allocates only if there are many of them.
class GivenDims {
 public:
  explicit GivenDims(std::span<const DimBinding> dims) : dims_(dims) {
    constexpr std::size_t kFew = 16;
    if (dims.size() <= kFew) return;
    for (const DimBinding& dim : dims) by_name_.push_back(&dim);
    // Bindings with the same name stay in order: the first one is found.
    std::ranges::sort(by_name_, {}, [](const DimBinding* dim) { return std::pair(dim->name, dim); });
  }

  /// The first binding with that name; null if there is none.
  const DimBinding* find(std::string_view name) const {
    if (by_name_.empty()) {
      const auto found = std::ranges::find(dims_, name, &DimBinding::name);
      return found != dims_.end() ? &*found : nullptr;
    }
    const auto found = std::ranges::lower_bound(by_name_, name, {}, &DimBinding::name);
    return found != by_name_.end() && (*found)->name == name ? *found : nullptr;
  }

 private:
  std::span<const DimBinding> dims_;
  std::vector<const DimBinding*> by_name_;  // empty if there are few
};

Status bind_by_name(const SymbolTable& table, const GivenDims& dims, SymbolValues& values) {
  for (const ProgramSymbol& symbol : table.symbols) {
    if (symbol.input) continue;
    const DimBinding* const given = dims.find(symbol.dim.name());
    if (given == nullptr && is_pinned(symbol.dim)) {
      values[symbol.dim.name()] = symbol.dim.min();
      continue;
    }
    if (given == nullptr) {
      return invalid_argument(fmt::format("dim '{}' has no value, expected {}; bind it by name", symbol.dim.name(),
                                          promise_text(symbol.dim)));
    }
    MILLRACE_TRY(check_fact(symbol.dim, given->value, fmt::format("dim '{}'", given->name)));
    values[symbol.dim.name()] = given->value;
  }
  return {};
}

/// Checks that each name is given once, and that no input's extent determines it.
Status check_names(const SymbolTable& table, std::span<const Argument> inputs, std::span<const DimBinding> given,
                   const GivenDims& dims) {
  const auto name_of = [](const ProgramSymbol& symbol) -> std::string_view { return symbol.dim.name(); };
  for (const DimBinding& dim : given) {
    const auto symbol = std::ranges::lower_bound(table.symbols, dim.name, {}, name_of);
    if (symbol == table.symbols.end() || name_of(*symbol) != dim.name) {
      return not_found(
          fmt::format("dim '{}' is bound, but the program has no such symbol; leave it out", printable(dim.name)));
    }
    if (symbol->input) {
      return invalid_argument(
          fmt::format("dim '{}' is bound by name, but input '{}' determines it by its dim {}; leave it out", dim.name,
                      printable(inputs[*symbol->input].name), symbol->axis));
    }
    if (dims.find(dim.name) != &dim) {
      return invalid_argument(fmt::format("dim '{}' is bound twice, expected once; leave one out", dim.name));
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
  const auto& [small, large, reason] = needed.requirement;
  MILLRACE_TRY_ASSIGN(const std::int64_t low, small.evaluate(values));
  MILLRACE_TRY_ASSIGN(const std::int64_t high, large.evaluate(values));
  if (low <= high) return {};
  const std::string why = reason.empty() ? "" : fmt::format(", as {}", reason);
  return invalid_argument(fmt::format("{} needs {} <= {}{}, found {} and {}{}; bind other sizes", needed.node,
                                      small.to_text(), large.to_text(), why, low, high,
                                      values_text(std::array{small, large}, values)));
}

}  // namespace

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
  const GivenDims given(dims);
  MILLRACE_TRY(check_names(table, inputs, dims, given));
  MILLRACE_TRY(bind_by_name(table, given, values));
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
