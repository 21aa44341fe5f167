// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "graph/text/append_built.h"
#include "millrace/graph/functions.h"

// A text may call an op in every way that its C++ function allows, even if the op itself does not allow it: with
// operands of other shapes, with a number in place of an operand, or without attributes that follow from the operands.
namespace millrace {

/// Whether the operand of the op may be a number: the op's C++ function has an overload for it.
bool takes_number(Op, std::size_t operand);
/// Whether the text continues with a number rather than a value.
bool begins_number(TextReader&);
/// Reads a number. It is floating-point, as in C++, if it has a point or an exponent, or is inf or nan.
Result<Literal> read_literal(TextReader&);

/// Sets the attributes that were left out and are derived from the operands: the steps of a slice, a dim of a reshape.
void complete_attributes(Attributes&, const Graph&, std::span<const Value> operands);

/// Whether append_function must append the op: an operand is a number, or two operands have the same dtype but
/// different shapes.
bool needs_function(const Graph&, Op, const CallOperands&);
/// Appends the nodes that the op's C++ function builds from the operands. Precondition: needs_function.
Result<std::vector<Value>> append_function(Graph&, Op, const CallOperands&, const OperationPlace&);

}  // namespace millrace
