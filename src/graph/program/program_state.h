// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/program/index_checks.h"
#include "graph/program/signature_state.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program.h"
#include "millrace/hal/device.h"

namespace millrace {

/// Everything that sessions of a program share. Written by compile() and Program::on() only.
struct Program::State : Signature::State {
  std::shared_ptr<const std::vector<ProgramVariant>> variants;
  // What is on the device:
  std::shared_ptr<Device> device;
  const ProgramVariant* variant = nullptr;  // one of `variants`
  std::shared_ptr<Executable> executable;
  std::shared_ptr<Recording> recording;  // which all sessions replay
  std::shared_ptr<Buffer> constants;
  std::vector<std::vector<IndexCheck>> index_checks;  // see find_index_checks
  CompileReport report;

  const LoweredGraph& lowered() const { return variant->lowered; }
  /// Loads the device's variant and fills its constants.
  Status load(std::shared_ptr<Device>);
};

/// The number of the best target that the device runs. Fails when it runs none of these.
Result<std::size_t> find_target(const Device&, std::span<const TargetSpec>);

/// Why there is no memory for the resources of one lifetime, with the largest of them.
Status name_largest(const Status&, const Schedule&, Lifetime, const SymbolValues&);

}  // namespace millrace
