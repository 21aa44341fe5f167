// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace millrace {

/// Which generator makes a kernel.
struct CompileKernelOptions {
  std::string force_generator = {};  // empty: in order
  bool allow_reference = false;      // may fall to the interpreter though the target has a real generator
};

/// Which algorithm answers a request.
struct LowerOptions {
  std::string force_algorithm = {};  // empty: in order
  CompileKernelOptions compile = {};
};

struct LlvmOptions {
  /// GPU code objects tell which line of the kernel's text each instruction comes from (DWARF 5, the text included).
  bool line_tables = false;
};

}  // namespace millrace
