// SPDX-License-Identifier: Apache-2.0
// All state of the stand-in, behind one lock. It is global, because a C interface has no object to hold it.
#pragma once

#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "tests/hip_standin/control.h"
#include "tests/hip_standin/runtime/commands.h"
#include "tests/hip_standin/runtime/journal.h"
#include "tests/hip_standin/runtime/memory.h"
#include "tests/hip_standin/runtime/modules.h"

namespace millrace::hip_standin {

struct DeviceState {
  DeviceOptions options;
  std::uint64_t used_bytes = 0;  // by hipMalloc, and reserved by pools
  bool is_lost = false, is_hung = false;

  std::uint64_t free_bytes() const { return options.memory_bytes - used_bytes; }
};

using Pools = Handles<Pool, HandleKind::kPool>;

struct State {
  std::mutex mutex;
  std::uint64_t epoch = 0;  // how often it was reset
  Options options;
  std::vector<DeviceState> devices;
  Journal journal;
  Memory memory;
  Pools pools;
  Modules modules;
  Functions functions;
  Streams streams;
  Events events;
  std::mt19937_64 random;
  std::uint64_t num_commands = 0;             // that were queued
  std::uint64_t num_launches_until_hang = 0;  // 0: none hangs
  std::uint64_t num_hidden_waits = 0;
  bool holds_commands = false;

  bool is_hip6() const { return options.version >= 60'000'000; }
  int& current_device();  // of the calling thread
};

/// The process's. Precondition of all that follows: its lock is held.
State& the_state();
void reset(State&, const Options&);
std::vector<std::string> live_objects(const State&);

/// Ends the device's work: queued commands are dropped, their events count as done.
void lose(State&, int device);
/// Records a mistake of a command as a finding, and loses the device.
void fault(State&, int device, std::string finding);

}  // namespace millrace::hip_standin
