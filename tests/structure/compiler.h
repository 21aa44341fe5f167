// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace millrace::structure {

struct CompilerRun {
  bool succeeded;
  std::string output;  // diagnostics, and a make rule that names every file read
};

/// Compiles `source` with nothing but a C++20 compiler, and with `include_dir` as the only added include path. The
/// output names files relative to that.
CompilerRun compile_alone(const std::filesystem::path& include_dir, const std::string& source);

}  // namespace millrace::structure
