// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

inline constexpr char kLlvmModuleFile[] = "libmillrace_llvm.so";

/// The file from which this code is mapped: the shared library or executable that contains Millrace. Empty if /proc
/// cannot be read. Does not use the program's name, which could match another file in the working directory.
std::string own_file();

/// The module of the install that the application was built with; "" if it was not built with find_package.
/// find_package adds a definition of this function that returns the path (cmake/millraceConfig.cmake.in). It comes
/// before the library's definition on the linker's command line, and the linker uses the first of several weak
/// definitions. The symbol is hidden, so that if two plugins contain Millrace, each finds its own module.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] const char* millrace_package_module();

/// The paths where the module may be, in search order, for a library in `own_file`: next to it; in the library
/// directory of an install if the library is in the install's program directory; in the install that the application
/// was built with, if any; and where a system package puts it, if this build is for such a package (prefix /usr or
/// /usr/local). No other path is built in. On another machine, any of these paths may belong to somebody else: see
/// check_module_writers.
std::vector<std::string> module_paths(std::string_view own_file, std::string_view package_module);

/// Returns OK if nobody can change the file or the contents of its directory, except root, this process's user and
/// `library_owner`, whose code this process already runs. A world-writable directory such as /tmp is accepted if it is
/// sticky and one of these three owns the file. Write access of a group is accepted if it is root's group or the
/// private group of this process's user.
Status check_module_writers(const std::string& module, uid_t library_owner);

}  // namespace millrace
