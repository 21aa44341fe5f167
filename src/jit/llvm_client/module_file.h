// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/base/status.h"

namespace millrace {

/// Fails if the file is a shared object that ends before its segments do. Opening such a file maps pages that are not
/// there, and the first access to one ends the process (SIGBUS). Also fails if it is a pipe or a device, for which
/// dlopen may wait forever. Returns OK for any other file, because dlopen reports what is wrong with it.
Status check_module_segments(const std::string& path);

/// The file that dlopen opens for a name without a slash, found on the search path of the file that contains this code:
/// LD_LIBRARY_PATH, its own RUNPATH and the system's directories. Empty if no directory contains it. Even then, dlopen
/// may find it in the system's cache of libraries.
std::string find_in_library_path(const std::string& name);

}  // namespace millrace
