// SPDX-License-Identifier: Apache-2.0
// The option --dim: values of symbolic sizes, for all commands that need numbers.
#include "tools/millrace/dims.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace::tool {
namespace {

std::string names_of(const std::map<std::string, Dim>& symbols) {
  PrintableNames names;
  for (const auto& [name, dim] : symbols) names.add(name);
  return names.text();
}

/// "n in 1..64"; "n in 0.." if nothing more is promised.
std::string promise_text(const Dim& dim) { return dim == Dim(dim.name()) ? dim.name() + " in 0.." : dim.to_text(); }

}  // namespace

void add_dims(CLI::App& app, std::vector<std::string>& dims) {
  app.add_option("--dim", dims, "The value of a symbolic size. May be repeated.")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->check(is_assignment);
}

SymbolValues pinned_values(const std::map<std::string, Dim>& symbols) {
  SymbolValues values;
  for (const auto& [name, dim] : symbols) {
    if (dim.min() == dim.max()) values.emplace(name, dim.min());
  }
  return values;
}

Result<SymbolValues> parse_dims(const std::map<std::string, Dim>& symbols, const std::vector<std::string>& dims) {
  SymbolValues values;
  for (const std::string& argument : dims) {
    const auto [name, text] = split_assignment(argument);
    const auto symbol = symbols.find(name);
    if (symbol == symbols.end()) {
      return not_found(fmt::format("--dim {}: unknown symbolic size '{}'; the graph has: {}", printable(argument),
                                   printable(name), names_of(symbols)));
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      return invalid_argument(
          fmt::format("--dim {}: found '{}', expected an integer", printable(argument), printable(text)));
    }
    if (!symbol->second.allows(value)) {
      return invalid_argument(fmt::format("--dim {}: the graph promises {}; say a value that it allows",
                                          printable(argument), promise_text(symbol->second)));
    }
    if (!values.emplace(name, value).second) {
      return invalid_argument(
          fmt::format("--dim {}: '{}' already has a value; give each size once", printable(argument), printable(name)));
    }
  }
  return values;
}

std::optional<std::string> plain_symbol(const SizeExpr& size) {
  std::map<std::string, Dim> symbols;
  if (!size.collect_symbols(symbols).ok() || symbols.size() != 1) return {};
  const auto& [name, dim] = *symbols.begin();
  return size == SizeExpr(dim) ? std::optional(name) : std::nullopt;
}

std::optional<std::string> unknown_symbol(const SizeExpr& size, const SymbolValues& values) {
  std::map<std::string, Dim> symbols;
  if (!size.collect_symbols(symbols).ok()) return {};
  for (const auto& [name, dim] : symbols) {
    if (!values.contains(name)) return name;
  }
  return {};
}

std::string size_text(const SizeExpr& size, const SymbolValues& values) {
  const Result<std::int64_t> value = size.evaluate(values);
  return value.ok() ? fmt::format("{}", *value) : size.to_text();
}

Assignment split_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  return {text.substr(0, equals), text.substr(equals + 1)};
}

const CLI::Validator is_assignment(
    [](const std::string& text) {
      const std::size_t equals = text.find('=');
      const bool is_good = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
      return is_good ? std::string() : fmt::format("found '{}', expected NAME=VALUE", printable(text));
    },
    "");

}  // namespace millrace::tool
