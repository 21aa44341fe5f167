// SPDX-License-Identifier: Apache-2.0
// Resolves the addresses of calls and commands to bytes, or to a message about the mistake.
#pragma once

#include "tests/hip_standin/runtime/state.h"

namespace millrace::hip_standin {

struct Place {
  std::byte* bytes = nullptr;                        // null if there is a mistake
  std::shared_ptr<Allocation> allocation = nullptr;  // null for memory of the host
  std::string mistake = {};                          // "64 bytes at 0x7f0000001000: never allocated"

  bool is_ok() const { return mistake.empty(); }
};

/// A call may name memory whose allocation is queued; a command that runs may not.
enum class When : std::uint8_t { kQueued, kRunning };

/// Memory of `device` that is live.
Place find_device(const State&, int device, std::uint64_t address, std::uint64_t num_bytes, When);
/// Memory of the host that is pinned or registered.
Place find_host(const State&, std::uint64_t address, std::uint64_t num_bytes);

/// Gives memory of a pool back: its bytes are gone, the pool may keep their place.
void give_back(State&, Allocation&);
/// Lets the pool keep up to this number of reserved bytes, or the bytes that it uses if that is more.
void trim(State&, Pool&, std::uint64_t bytes_to_keep);
/// "stream 2", if one of its queued commands uses the bytes; otherwise empty.
std::string find_user(const State&, std::uint64_t address, std::uint64_t num_bytes);

}  // namespace millrace::hip_standin
