// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "graph/run/diagnostics.h"
#include "graph/run/signature_state.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/program.h"
#include "millrace/graph/program_variant.h"
#include "millrace/hal/device.h"

namespace millrace {

/// A variable in the memory that each session has for all of them.
struct VariablePart {
  std::size_t offset_bytes = 0;
  SharedBytes initial;  // VariableNode::initial
};

/// Everything that sessions of a program share. Written by compile() and Program::on() only.
struct Program::State : Signature::State {
  std::shared_ptr<const std::vector<ProgramVariant>> variants;
  std::vector<VariablePart> variable_parts;  // like `variables`; the same for every variant
  // On the device:
  std::shared_ptr<Device> device;
  const ProgramVariant* variant = nullptr;  // one of `variants`
  const CommandList* commands = nullptr;    // the variant's
  std::shared_ptr<Executable> executable;
  std::shared_ptr<Recording> recording;  // which all sessions replay
  ContentId constants_id;                // the same on every device: all variants lay their constants out alike
  std::shared_ptr<Buffer> constants;
  CompileReport report;

  /// Loads the device's variant.
  Status load(std::shared_ptr<Device>);
  /// Takes the device's buffer of the constants; where it has none yet, a new one, which `fill` fills.
  Status place_constants(const std::function<Status(const Buffer&)>& fill);
  /// From the same program on another device.
  Status copy_constants(const State& from);
};

/// The number of the best target that the device runs. Fails when it runs none of these.
Result<std::size_t> find_target(const Device&, std::span<const TargetSpec>);

/// The error for memory that the device does not have; it names the largest of `parts`. `what` is "constants", say.
Status name_largest(const Status&, std::string_view what, std::span<const NamedBytes>, const SymbolValues&);

}  // namespace millrace
