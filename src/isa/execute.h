// SPDX-License-Identifier: Apache-2.0
// The executor of machine code: loads a code object and runs its kernels. It does not depend on devices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "millrace/hal/machine_code.h"
#include "millrace/isa/device.h"

namespace millrace::isa {

struct Kernel;

/// A code object in memory, its instructions decoded into handlers and operands. Immutable.
class Program {
 public:
  virtual ~Program() = default;
  /// Null if no kernel has this name.
  virtual const Kernel* find(std::string_view symbol) const = 0;
};

/// Fails if an instruction has no row in the table of semantics, or a part that is not modelled. The message names it.
Result<std::shared_ptr<const Program>> load_program(MachineCode);

/// Memory that a dispatch may touch.
struct LaunchBuffer {
  std::string name = {};  // for messages: "@0"
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  bool is_written = true;  // whether the dispatch may write it
  /// The byte offset of the buffer's address within the arguments. If it is given, the argument is replaced by an
  /// address far from all other buffers, so that an access that leaves the buffer never hits another buffer.
  std::optional<std::uint32_t> argument_offset = std::nullopt;
};

struct Launch {
  std::uint32_t num_groups = 0;
  std::span<const std::byte> arguments = {};  // the kernarg segment
  std::span<const LaunchBuffer> buffers = {};
  std::uint64_t seed = 0;
  bool finds_mistakes = true;
  std::uint64_t max_wave_instructions = std::uint64_t{1} << 32;
  IsaProfile* profile = nullptr;  // null: not profiled
};

/// Runs all workgroups. Fails at the first mistake of the kernel (see IsaDevice); the message does not name the kernel.
/// Thread-safe: each call has its own state.
Result<IsaCounts> run_kernel(const Kernel&, const Launch&);

}  // namespace millrace::isa
