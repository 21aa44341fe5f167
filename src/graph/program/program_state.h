// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/program/symbols.h"

namespace millrace {

/// Everything that sessions of a program share. Written by compile() only.
struct Program::State {
  DispatchGraph dispatch;
  std::vector<std::vector<KernelSequence>> sequences;  // a row per region
  Schedule schedule;
  CommandList commands;
  std::shared_ptr<Device> device;
  std::shared_ptr<Executable> executable;
  std::shared_ptr<Buffer> constants;
  std::vector<Argument> inputs, outputs;
  SymbolTable symbols;
  std::vector<Dim> named_dims;
  CompileReport report;
};

}  // namespace millrace
