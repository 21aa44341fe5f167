// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/run/symbols.h"

namespace millrace {

/// The data of a Signature, against which a program's runs are checked.
struct Signature::State {
  std::vector<Argument> inputs, outputs, variables;
  SymbolTable symbols;
  std::vector<Dim> named_dims;

  Result<std::vector<TensorType>> output_types(std::span<const Extents> inputs, std::span<const DimBinding> dims) const;
};

}  // namespace millrace
