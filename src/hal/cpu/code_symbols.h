// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "millrace/base/status.h"
#include "millrace/hal/device_spec.h"

namespace millrace {

/// The tools to which the addresses of kernels are reported. All of them serve this process only.
struct CodeSymbols {
  bool perf_map = false;  // /tmp/perf-PID.map, which `perf report` and `perf top` read
  bool jitdump = false;   // jit-PID.dump in $TMPDIR or /tmp, which `perf inject --jit` reads: code and names over time
  bool gdb = false;       // GDB's JIT interface, which LLDB reads too

  bool any() const { return perf_map || jitdump || gdb; }
  friend bool operator==(const CodeSymbols&, const CodeSymbols&) = default;
};

/// "symbols=perf", "symbols=jitdump+gdb". The error names the device, the option and the word.
Result<CodeSymbols> parse_code_symbols(const DeviceSpec&, const DeviceSpec::Option&);

/// The address of a kernel's code in memory.
struct CodePlace {
  std::string name;
  const std::byte* begin = nullptr;
  std::size_t size_bytes = 0;
};

/// While an object of this class lives, the debugger knows the names of its kernels.
class DebuggedCode;

/// Reports the code to the tools. Fails if a file cannot be written. The result is null without `gdb`. Thread-safe.
Result<std::shared_ptr<DebuggedCode>> announce_code(std::span<const CodePlace>, const CodeSymbols&);

}  // namespace millrace
