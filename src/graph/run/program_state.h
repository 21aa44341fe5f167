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

/// The place of a variable in the buffer of variables that each session has.
struct VariablePart {
  std::size_t offset_bytes = 0;
  SharedBytes initial;  // VariableNode::initial
};

/// Everything that sessions of a program share. Written by compile() and Program::on() only.
struct Program::State : Signature::State {
  std::shared_ptr<const std::vector<ProgramVariant>> variants;
  std::vector<VariablePart> variable_parts;  // in the order of `variables`; the same for every variant
  // On the device:
  std::shared_ptr<Device> device;
  const ProgramVariant* variant = nullptr;  // one of `variants`
  const CommandList* commands = nullptr;    // the variant's command list
  std::shared_ptr<Executable> executable;
  std::shared_ptr<Recording> recording;  // replayed by all sessions
  ContentId constants_id;                // equal on every device: all variants lay constants out alike
  std::shared_ptr<Buffer> constants;
  CompileReport report;

  /// Loads the device's variant.
  Status load(std::shared_ptr<Device>);
  /// Uses the device's buffer of these constants. If the device has none yet, allocates one, which `fill` fills.
  Status place_constants(const std::function<Status(const Buffer&)>& fill);
  /// Copies the constants from the same program on another device.
  Status copy_constants(const State& from);
};

/// The index of the best target that the device runs. Fails if the device runs none of the targets.
Result<std::size_t> find_target(const Device&, std::span<const TargetSpec>);

/// The status of a failed allocation, with a message that also names the largest of the values that needed the memory.
/// `what` is a word for these values, such as "constants".
Status name_largest(const Status&, std::string_view what, std::span<const NamedBytes>, const SymbolValues&);

}  // namespace millrace
