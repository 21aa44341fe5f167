// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace millrace {

struct Room {
  std::size_t mapped_bytes = 0;   // address space
  std::size_t written_bytes = 0;  // the part of it that is written, and so needs memory
};

/// Whether this process can take that much more memory, under its own limits (such as RLIMIT_AS) and the system's. Maps
/// the memory and unmaps it again, so another thread may take it before the caller does.
bool has_room(const Room&);

}  // namespace millrace
