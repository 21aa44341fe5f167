// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/text/append_built.h"
#include "graph/text/field_reader.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/text.h"
#include "ops/call_example.h"

namespace millrace {

/// An attribute, as the composite's row states it.
struct Parameter {
  std::string_view name;
  std::string_view default_text = {};  // "axis = -1": the text of the default value
  std::string_view absent = {};        // "bound: n": the default in words
};

/// A composite that texts may name: a row of composite_table.inc.
struct CompositeRow {
  std::string_view name;
  std::vector<Parameter> parameters;
  OperandCount operands;
  bool returns_list = false;  // the attributes decide the number of results
  std::string_view meaning, example;
  bool (*takes_number)(std::size_t operand);
  std::vector<AttributeForm> (*attributes)(const CompositeRow&);
  Result<std::vector<Tensor>> (*build)(const CompositeRow&, std::span<const TensorOrNumber>, const FieldSource&);
};

std::span<const CompositeRow> composite_rows();
/// Null if no composite that texts may call has this name.
const CompositeRow* find_composite(std::string_view name);

/// Reads the attributes and appends the nodes to which the composite expands. Returns its results, which may be
/// operands.
Result<std::vector<Value>> append_composite(Graph&, const CompositeRow&, const CallOperands&, const FieldSource&,
                                            const OperationPlace&);

}  // namespace millrace
