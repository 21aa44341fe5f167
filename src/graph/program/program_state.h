// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "graph/program/index_checks.h"
#include "graph/program/signature_state.h"
#include "millrace/graph/program.h"

namespace millrace {

/// Everything that sessions of a program share. Written by compile() only.
struct Program::State : LoweredGraph, Signature::State {
  std::shared_ptr<Device> device;
  std::shared_ptr<Executable> executable;
  std::shared_ptr<Buffer> constants;
  std::map<std::string, std::vector<IndexCheck>> index_checks;  // see find_index_checks
};

}  // namespace millrace
