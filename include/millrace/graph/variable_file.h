// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/program.h"

namespace millrace {

/// Writes all variables of the session to a safetensors file, by name. An existing file is replaced once everything is
/// written. Waits for the runs that were submitted. Fails, and leaves the file, if the session was moved from.
Status save_variables(Session&, const std::string& path);
/// Gives all variables of the session the values of a file's entries of their names. Entries that are no variables are
/// left alone. Fails, and changes nothing, if a variable has no entry, or one of another type, or if the session was
/// moved from.
Status restore_variables(Session&, const std::string& path);

}  // namespace millrace
