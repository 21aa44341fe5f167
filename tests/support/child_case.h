// SPDX-License-Identifier: Apache-2.0
// What must be seen by a process of its own is a test case that is skipped, and that its parent runs in a child.
#pragma once

#include <string>

namespace millrace::test {

/// The exit status of this program run with one skipped case, 0 if it passes. `environment` stands before the command,
/// as in a shell.
int run_child(const std::string& environment, const std::string& test_case);

/// Whether this process has mapped LLVM's library.
bool is_llvm_loaded();

}  // namespace millrace::test
