// SPDX-License-Identifier: Apache-2.0
// Executes each kind of command.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tests/hip_standin/runtime/places.h"
#include "tests/hip_standin/runtime/run_kernel.h"
#include "tests/hip_standin/runtime/schedule.h"

namespace millrace::hip_standin {
namespace {

/// Does a command's work. Returns how long the device takes, in nanoseconds of a clock that knows no real time.
class Runner {
 public:
  Runner(State& state, StreamState& stream) : state_(state), stream_(stream) {}

  std::uint64_t operator()(QueuedLaunch& launch) {
    run_kernel(state_, stream_.device, launch);
    return 2000 + std::uint64_t{20} * launch.num_groups;
  }
  std::uint64_t operator()(const QueuedCopy& copy) {
    const bool from_host = copy.kind == hip::CopyKind::kHostToDevice,
               to_host = copy.kind == hip::CopyKind::kDeviceToHost;
    const std::byte* const source = place(from_host, copy.source, copy.num_bytes);
    std::byte* const destination = source == nullptr ? nullptr : place(to_host, copy.destination, copy.num_bytes);
    if (destination != nullptr) std::memmove(destination, source, copy.num_bytes);
    return 1000 + copy.num_bytes / 10;
  }
  std::uint64_t operator()(const QueuedFill& fill) {
    std::byte* const destination = place(false, fill.destination, fill.num_bytes());
    if (destination == nullptr) return 0;
    for (std::uint64_t i = 0; i < fill.count; ++i) {
      std::memcpy(destination + i * fill.value_bytes, &fill.value, fill.value_bytes);  // little-endian
    }
    return 1000 + fill.num_bytes() / 100;
  }
  std::uint64_t operator()(const QueuedRecord& command) {
    command.record->is_done = true;
    command.record->time_ns = stream_.time_ns;
    return 0;
  }
  std::uint64_t operator()(const QueuedWait& wait) {
    stream_.time_ns = std::max(stream_.time_ns, wait.record->time_ns);
    return 0;
  }
  std::uint64_t operator()(const QueuedAllocation& command) {
    command.allocation->has_begun = true;
    return 0;
  }
  std::uint64_t operator()(const QueuedRelease& command) {
    Allocation& allocation = *command.allocation;
    const std::string user = find_user(state_, allocation.address, allocation.size_bytes);
    if (!user.empty()) {
      state_.journal.find(
          fmt::format("hipFreeAsync: {}: {} uses them, and is not made to come before", allocation.to_text(), user));
    }
    give_back(state_, allocation);
    return 0;
  }

 private:
  std::byte* place(bool is_host, std::uint64_t address, std::uint64_t num_bytes) {
    const Place found = is_host ? find_host(state_, address, num_bytes)
                                : find_device(state_, stream_.device, address, num_bytes, When::kRunning);
    if (!found.is_ok()) fault(state_, stream_.device, "a queued copy or fill: " + found.mistake);
    return found.bytes;
  }

  State& state_;
  StreamState& stream_;
};

}  // namespace

void run_front(State& state, StreamState& stream) {
  QueuedCommand command = std::move(stream.commands.front());
  stream.commands.pop_front();
  const bool is_work = !std::holds_alternative<QueuedRecord>(command.what);
  // Work begins when its stream is free, and not before it was queued.
  if (is_work) stream.time_ns = std::max(stream.time_ns, command.number * 1000);
  stream.time_ns += std::visit(Runner(state, stream), command.what);
  const auto* launch = std::get_if<QueuedLaunch>(&command.what);
  if (launch != nullptr && launch->never_ends) stream.commands.push_front(std::move(command));
}

}  // namespace millrace::hip_standin
