// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "millrace/graph/graph.h"

namespace millrace {

/// An input and one of its axes.
struct DimSource {
  std::size_t input = 0, axis = 0;
};
/// For each symbol, by name, the first input dim that is exactly this symbol.
using DimSources = std::map<std::string, DimSource, std::less<>>;
Result<DimSources> find_sources(const Graph&);

/// The symbols of live nodes, by name. Fails if a symbol that must be bound by name has no upper bound.
Result<std::map<std::string, Dim>> collect_live_symbols(const Graph&);

}  // namespace millrace
