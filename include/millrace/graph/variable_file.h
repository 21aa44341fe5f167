// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/program.h"

namespace millrace {

/// Writes all variables of the session to a safetensors file, by name. An existing file is replaced once everything is
/// written. Waits for submitted runs. If the session was moved from, fails and leaves the file unchanged.
Status save_variables(Session&, const std::string& path);
/// Sets all variables of the session from the file's entries with the same names, and ignores other entries. Fails and
/// changes nothing if a variable has no entry, if its entry has another type, or if the session was moved from.
Status restore_variables(Session&, const std::string& path);

}  // namespace millrace
