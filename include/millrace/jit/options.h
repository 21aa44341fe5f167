// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace millrace {

/// Controls which generator compiles a kernel.
struct CompileKernelOptions {
  std::string force_generator = {};  // empty: the first in order that accepts it
  bool allow_reference = false;      // may use the interpreter even if the target has a real generator
};

/// Controls which algorithm serves a request.
struct LowerOptions {
  std::string force_algorithm = {};  // empty: the first in order that accepts it
  CompileKernelOptions compile = {};
};

struct LlvmOptions {
  /// Adds DWARF 5 line tables to GPU code objects. They map each instruction to a line of the kernel's text, which they
  /// include.
  bool line_tables = false;
};

}  // namespace millrace
