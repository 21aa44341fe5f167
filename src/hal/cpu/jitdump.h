// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "hal/cpu/code_symbols.h"

namespace millrace {

/// Appends to a file. Refuses links and files of other users, who can guess the file's name.
Status append_private_file(const std::string& path, std::span<const std::byte>);

/// Appends one record per kernel to this process' jit-PID.dump. The first call creates the file and maps a page of it,
/// which tells perf the file's name. Not thread-safe. Source: tools/perf/Documentation/jitdump-specification.txt in
/// Linux.
Status append_to_jitdump(std::span<const CodePlace>);

}  // namespace millrace
