// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/text/reader.h"
#include "graph/text/composites.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// The op or composite that a text calls by name. An op and a composite may share a name; the number of operands then
/// decides between them.
struct Called {
  std::string_view name;
  std::optional<Op> op;
  const CompositeRow* composite = nullptr;

  bool is_composite(std::size_t num_operands) const {
    return !op || (composite != nullptr && composite->operands.contains(num_operands));
  }
  /// Whether the operand may be a number. The parser calls this before it knows the number of operands.
  bool takes_number(std::size_t operand) const;
};
/// Reads the name of an op or a composite. The error suggests the nearest name of either.
Result<Called> read_called(TextReader&);

/// Reads the name after "kernel", which must be that of one of `kernels`.
Result<KernelNode> read_kernel(TextReader&, const std::vector<CustomKernel>& kernels);

}  // namespace millrace
