// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/size_requirement.h"
#include "millrace/graph/signature.h"

namespace millrace {

/// A symbol of a program, and the input whose extent along `axis` is its value; without an input, the symbol is bound
/// by name.
struct ProgramSymbol {
  Dim dim;
  std::optional<std::size_t> input;
  std::size_t axis = 0;
};

struct NodeRequirement {
  std::string node;  // "%3 = topk"
  SizeRequirement requirement;
};

/// The symbols that are bound at run time, and the checks that are made before anything executes.
struct SymbolTable {
  std::vector<ProgramSymbol> symbols;  // sorted by name
  std::vector<NodeRequirement> requirements;
};

/// Whether the facts allow only one value, so that a run need not bind it.
inline bool is_pinned(const Dim& dim) { return dim.min() == dim.max(); }

/// The values of the symbols in the sizes: " with n = 3, m = 4"; empty if there are none.
std::string values_text(std::span<const SizeExpr> sizes, const SymbolValues&);

/// Writes each symbol's value to `values` and checks facts, extents and requirements. Allocates nothing if it succeeds,
/// `values` already has the table's keys, and at most 16 dims are bound by name. Messages do not name the caller.
Status bind_symbols(const SymbolTable&, std::span<const Argument> inputs, std::span<const Extents> extents,
                    std::span<const DimBinding> dims, SymbolValues& values);

/// The type with numbers in place of symbols. Precondition: the values keep the table's facts.
Result<TensorType> bind_type(const TensorType&, const SymbolValues&);

}  // namespace millrace
