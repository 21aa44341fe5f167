// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/base/shape.h"

namespace millrace {

/// A gather or a scatter, whose kernel reports that an index was wrong, but not which.
struct IndexCheck {
  /// Where the indices can be read after a run.
  struct Place {
    std::size_t binding = 0;  // of the session
    std::size_t offset_bytes = 0;
    std::optional<std::size_t> size_bytes = {};  // nothing: to the binding's end
  };

  std::string node;           // "%y = gather"
  std::string indices, from;  // the operands: "%i", "%x"
  TensorType indices_type, from_type;
  std::size_t axis = 0;             // of `from`
  std::optional<Place> place = {};  // nothing: in the slab, or nowhere
};

/// Memory that a run or a program needs.
struct NamedBytes {
  std::string name;
  SizeExpr size_bytes = 0;
};

/// What the error messages of a variant's runs say of its graph.
struct RunDiagnostics {
  std::vector<std::vector<IndexCheck>> index_checks;  // one row per command: what its kernel may report
  std::vector<NamedBytes> constants, transients;      // those of which one is the largest, whatever a run binds
};

}  // namespace millrace
