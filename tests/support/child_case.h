// SPDX-License-Identifier: Apache-2.0
// Test cases that need a process of their own: they are skipped, and a parent case runs them in a child.
#pragma once

#include <string>

namespace millrace::test {

/// The exit status of this program run with one skipped case, 0 if it passes. `environment` stands before the command,
/// as in a shell.
int run_child(const std::string& environment, const std::string& test_case);

/// Whether this process has mapped LLVM's library.
bool is_llvm_loaded();

}  // namespace millrace::test
