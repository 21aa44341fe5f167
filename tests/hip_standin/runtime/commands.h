// SPDX-License-Identifier: Apache-2.0
// The commands that streams queue.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "hal/hip/api.h"
#include "tests/hip_standin/runtime/handles.h"
#include "tests/hip_standin/runtime/memory.h"
#include "tests/hip_standin/runtime/modules.h"

namespace millrace::hip_standin {

/// One recording of an event. A wait is for the recording that was the last one when the wait was queued.
struct EventRecord {
  bool is_done = false;
  std::uint64_t time_ns = 0;
};

struct QueuedLaunch {
  std::shared_ptr<const KernelFunction> function;
  std::uint32_t num_groups = 0;
  std::vector<std::byte> arguments;  // the kernarg segment, as it was at the call
  bool never_ends = false;
};
struct QueuedCopy {
  std::uint64_t destination = 0, source = 0, num_bytes = 0;
  hip::CopyKind kind = hip::CopyKind::kDeviceToDevice;
};
struct QueuedFill {
  std::uint64_t destination = 0, count = 0;
  std::uint32_t value = 0, value_bytes = 0;
  std::uint64_t num_bytes() const { return count * value_bytes; }
};
struct QueuedRecord {
  std::shared_ptr<EventRecord> record;
};
struct QueuedWait {
  std::shared_ptr<const EventRecord> record;
};
/// An allocation or a release in the order of a stream.
struct QueuedAllocation {
  std::shared_ptr<Allocation> allocation;
};
struct QueuedRelease {
  std::shared_ptr<Allocation> allocation;
};

struct QueuedCommand {
  std::variant<QueuedLaunch, QueuedCopy, QueuedFill, QueuedRecord, QueuedWait, QueuedAllocation, QueuedRelease> what;
  std::uint64_t number = 0;  // in the order of the calls, over all streams
};

struct StreamState {
  std::uint64_t number = 0;
  int device = 0;
  std::deque<QueuedCommand> commands = {};
  std::uint64_t time_ns = 0;  // when its last command ended
  std::uint64_t priority = 0;
};

struct EventState {
  std::uint64_t number = 0;
  int device = 0;
  bool has_times = true;
  std::shared_ptr<EventRecord> last = nullptr;  // null: never recorded
};

using Streams = Handles<StreamState, HandleKind::kStream>;
using Events = Handles<EventState, HandleKind::kEvent>;

/// Whether the command reads or writes any of these bytes, of a device or of the host.
bool touches(const QueuedCommand&, std::uint64_t address, std::uint64_t size_bytes);

}  // namespace millrace::hip_standin
