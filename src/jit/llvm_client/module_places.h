// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

inline constexpr char kLlvmModuleFile[] = "libmillrace_llvm.so";

/// The file that this code is mapped from: the shared library or executable that holds the library. Empty when /proc
/// does not tell. Not by the name that the program was called by, which another file in the working directory may have.
std::string own_file();

/// Where the module may stand, first to last, for a library in `own_file`: beside it; in an install's library directory
/// when it stands in that install's directory of programs; where a package of the system puts it, when this build is
/// one (prefix /usr or /usr/local). No other path is built in: one that is free on another machine may be somebody
/// else's there.
std::vector<std::string> module_places(std::string_view own_file);

/// Ok when nobody can change the file, or what its directory holds, except root, this process's user and
/// `library_owner`, whose code this process runs already. A directory that everybody may write to, such as /tmp, is
/// fine if it is sticky and the file is owned as said. A group counts as its user when it is that user's private one.
Status check_module_writers(const std::string& module, uid_t library_owner);

}  // namespace millrace
