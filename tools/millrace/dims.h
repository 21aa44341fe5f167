// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/graph/graph.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace millrace::tool {

/// Adds --dim NAME=VALUE.
void add_dims(CLI::App&, std::vector<std::string>& dims);

/// The values of symbols whose facts allow only one value: the user need not give them.
SymbolValues pinned_values(const std::map<std::string, Dim>& symbols);

/// The values of --dim. Fails for a name that is not a symbol of the graph or is given twice, and for a value that the
/// symbol's facts do not allow.
Result<SymbolValues> parse_dims(const std::map<std::string, Dim>& symbols, const std::vector<std::string>& dims);

/// The symbol's name, if the size consists of one symbol.
std::optional<std::string> plain_symbol(const SizeExpr&);

/// A symbol in the size that has no value yet; empty if all symbols have values.
std::optional<std::string> unknown_symbol(const SizeExpr&, const SymbolValues&);

/// The number if all symbols have values, otherwise the expression.
std::string size_text(const SizeExpr&, const SymbolValues&);

/// Splits "name=value" at the first '='. `is_assignment` refuses arguments without one.
struct Assignment {
  std::string name, value;
};
Assignment split_assignment(const std::string&);
extern const CLI::Validator is_assignment;

}  // namespace millrace::tool
