// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/base/shape.h"
#include "millrace/hal/command_list.h"

namespace millrace {

/// A gather or a scatter. Its kernel reports that an index was out of range, but not which one.
struct IndexCheck {
  /// Where the indices can be read after a run.
  struct Place {
    std::size_t binding = 0;  // index among the session's bindings
    std::size_t offset_bytes = 0;
    std::optional<std::size_t> size_bytes = {};  // absent: to the binding's end
  };

  std::string node;           // "%y = gather"
  std::string explanation;    // if a composite built the node: the text that follows the node in the message
  std::string indices, from;  // the operands: "%i", "%x"
  TensorType indices_type, from_type;
  std::size_t axis = 0;             // the axis of `from`
  std::optional<Place> place = {};  // absent: the indices are in the slab, or not in memory
};

/// Memory that a run or a program needs.
struct NamedBytes {
  std::string name;
  SizeExpr size_bytes = 0;
};

/// What the error messages of a run need to know about the graph. Each ProgramVariant has its own.
struct RunDiagnostics {
  IdVector<CommandId, std::vector<IndexCheck>> index_checks;  // the checks that each command's kernel may report
  std::vector<NamedBytes> constants, transients, variables;   // to name the largest one if memory runs out
};

}  // namespace millrace
