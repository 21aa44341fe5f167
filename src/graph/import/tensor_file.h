// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/shape.h"
#include "millrace/base/status.h"

namespace millrace {

// What the readers and writers of files share. `where` begins each message: "npy 'w.npy'".

Result<std::vector<std::byte>> read_file(const std::string& where, const std::string& path);

/// The parts one after the other. A file that was there is replaced when all is written, and kept when something fails;
/// what is no file (a pipe, /dev/stdout) is written as it comes.
Status write_file(const std::string& where, const std::string& path, std::span<const std::span<const std::byte>> parts);

/// Fails beyond kMaxRank dims or 2^48 elements.
Result<Shape> shape_of(const std::string& where, std::span<const std::uint64_t> dims);

}  // namespace millrace
