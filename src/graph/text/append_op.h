// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "graph/text/append_built.h"
#include "millrace/graph/functions.h"

// Where the C++ function of an op takes more than the op does, so does a text: operands of other shapes, a number in an
// operand's place, and attributes that follow from the operands.
namespace millrace {

/// The operands of an operation: values, and a number among them where the op takes one.
struct CallOperands {
  std::vector<Value> values;
  std::optional<Literal> number = {};
  std::size_t number_position = 0;  // of the number, among all operands

  std::size_t count() const { return values.size() + (number ? 1 : 0); }
};

/// Whether one operand may be a number: an elementwise op of two.
bool takes_number(Op);
/// Whether the text goes on with a number, rather than with a value.
bool begins_number(TextReader&);
/// Reads a number; one with a point, an exponent, inf and nan are floating-point, as in C++.
Result<Literal> read_literal(TextReader&);

/// Gives the attributes that are left out and follow from the operands: the steps of a slice, a dim of a reshape.
void complete_attributes(Attributes&, const Graph&, std::span<const Value> operands);

/// Whether append_broadcast must append the op: it has a number, or operands of one dtype and several shapes.
bool needs_broadcast(const Graph&, Op, const CallOperands&);
/// Appends the op and what makes its operands equal in shape. Precondition: needs_broadcast.
Result<std::vector<Value>> append_broadcast(Graph&, Op, const CallOperands&, const OperationPlace&);

}  // namespace millrace
