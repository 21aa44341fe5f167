// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "graph/text/field_reader.h"
#include "millrace/graph/graph.h"

namespace millrace {

struct CompositeRow;

/// Null if no composite that texts may name is called so.
const CompositeRow* find_composite(std::string_view name);
void consider_composites(NearName&);
bool takes_operands(const CompositeRow&, std::size_t num_operands);

/// Reads the attributes and appends the nodes that the composite expands to. Returns its results, which may be
/// operands. `begin`: where the operation stands, for messages.
Result<std::vector<Value>> append_composite(Graph&, const CompositeRow&, std::span<const Value> operands,
                                            const FieldSource&, std::size_t begin);

}  // namespace millrace
