// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "hal/cpu/code_symbols.h"

namespace millrace {

struct GdbCodeEntry;

/// An ELF object in memory with the kernels' names, linked into the list that GDB reads. Source: "JIT Compilation
/// Interface" in GDB's manual.
class DebuggedCode {
 public:
  explicit DebuggedCode(std::span<const CodePlace>);
  DebuggedCode(const DebuggedCode&) = delete;
  DebuggedCode& operator=(const DebuggedCode&) = delete;
  ~DebuggedCode();

 private:
  std::vector<std::byte> object_;
  std::unique_ptr<GdbCodeEntry> entry_;
};

}  // namespace millrace
