// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::runtime_test {

/// The names of one or more objects, mangled.
struct Symbols {
  std::vector<std::string> strong;     // defined, in one object only
  std::vector<std::string> weak;       // defined, perhaps in several: inline functions, templates
  std::vector<std::string> undefined;  // wanted from elsewhere
};

/// Reads the output of `nm --format=posix`.
Symbols parse_symbols(std::string_view nm_output);

/// What `running` has that it must not have, one line each: a name that `compiling` defines, a name of ours that
/// nothing in `running` defines, and names of LLVM and xbyak.
std::vector<std::string> find_foreign_symbols(const Symbols& running, const Symbols& compiling);

}  // namespace millrace::runtime_test
