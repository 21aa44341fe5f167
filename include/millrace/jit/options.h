// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace millrace {

/// Controls which generator compiles a kernel.
struct CompileKernelOptions {
  std::string force_generator = {};  // empty: the first generator in order that accepts the kernel
  bool allow_reference = false;      // may use the interpreter even if the target has a real generator
};

/// Controls which algorithm serves a request.
struct LowerOptions {
  std::string force_algorithm = {};  // empty: the first algorithms in order that accept the request
  CompileKernelOptions compile = {};
};

struct LlvmOptions {
  /// Adds DWARF 5 line tables to GPU code objects. They map each instruction to a line of the kernel's text, which is
  /// included in the tables.
  bool line_tables = false;
};

}  // namespace millrace
