// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

// All that is read from and written to files. `where` begins each message, "npy 'w.npy'", and the system's reason is
// in it: "npy 'w.npy': the file cannot be opened: No such file or directory; check the path".

Result<std::vector<std::byte>> read_file(const std::string& where, const std::string& path);

/// The parts one after the other. A file that was there is replaced when all is written, and kept when something fails;
/// what is no file (a pipe, /dev/stdout) is written as it comes.
Status write_file(const std::string& where, const std::string& path, std::span<const std::span<const std::byte>> parts);
Status write_file(const std::string& where, const std::string& path, std::string_view text);

/// To standard output, through its buffer.
Status write_standard_output(std::string_view text);

}  // namespace millrace
