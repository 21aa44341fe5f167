// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "graph/program/symbols.h"

namespace millrace {

/// Everything that sessions of a program share. Written by compile() only.
struct Program::State : LoweredGraph {
  std::shared_ptr<Device> device;
  std::shared_ptr<Executable> executable;
  std::shared_ptr<Buffer> constants;
  std::vector<Argument> inputs, outputs;
  SymbolTable symbols;
  std::vector<Dim> named_dims;
  std::map<std::string, std::string> index_checks;  // see describe_index_checks
};

}  // namespace millrace
