// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/text/append_built.h"
#include "graph/text/field_reader.h"
#include "millrace/ops/op.h"

namespace millrace {

/// Reads the attributes of `op` in the syntax of attributes_text, or nothing. Attributes that are left out get their
/// defaults; those without a default must be given.
Result<Attributes> read_attributes(Op op, const FieldSource&, const OperationPlace&);

}  // namespace millrace
