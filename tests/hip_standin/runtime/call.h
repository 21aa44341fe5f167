// SPDX-License-Identifier: Apache-2.0
// The steps that every entry point takes before and after its own work.
#pragma once

#include <chrono>
#include <mutex>

#include "tests/hip_standin/runtime/state.h"

namespace millrace::hip_standin {

/// Counts the calling thread's time inside entries.
class TimeInside {
 public:
  TimeInside() = default;
  TimeInside(const TimeInside&) = delete;
  TimeInside& operator=(const TimeInside&) = delete;
  ~TimeInside() {
    total_ns() += static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin_).count());
  }
  static std::uint64_t& total_ns() {
    thread_local std::uint64_t total = 0;
    return total;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

constexpr bool is_release(Entry entry) {
  switch (entry) {
    case Entry::hipModuleUnload:
    case Entry::hipStreamDestroy:
    case Entry::hipEventDestroy:
    case Entry::hipFree:
    case Entry::hipFreeAsync:
    case Entry::hipHostFree:
    case Entry::hipHostUnregister:
    case Entry::hipMemPoolDestroy:
      return true;
    default:
      return false;
  }
}

/// Runs an entry's body, hip::Error(State&, Call&), under the lock, unless a test wants the call to fail; writes the
/// call down.
template <class Body>
hip::Error call(Entry entry, Body body) {
  const TimeInside time;
  State& state = the_state();
  const std::lock_guard lock(state.mutex);
  Call call{.entry = name_of(entry), .thread = state.journal.thread_number()};
  const std::optional<hip::Error> failure = state.journal.next_failure(entry);
  call.is_injected = failure.has_value();
  state.journal.make_room();  // a call that has come about is written down, also when memory runs out
  if (!failure || is_release(entry)) call.result = body(state, call);
  if (failure) call.result = *failure;
  if (failure == hip::Error::kLaunchFailure && !state.devices.empty()) lose(state, state.current_device());
  state.journal.add(call);
  return call.result;
}

/// Records a mistake of the caller.
inline hip::Error misuse(State& state, const Call& call, hip::Error error, std::string_view what) {
  state.journal.find(std::string(call.entry) + ": " + std::string(what));
  return error;
}

/// A call that nothing would ever end.
inline hip::Error would_block(State& state, const Call& call) {
  return misuse(state, call, hip::Error::kUnknown, "would never return: a stream hangs");
}

/// Says which device the call is about; kLaunchFailure if it is lost.
inline hip::Error about_device(State& state, Call& call, int device) {
  call.device = device;
  if (static_cast<std::size_t>(device) >= state.devices.size()) return hip::Error::kInvalidDevice;
  return state.devices[static_cast<std::size_t>(device)].is_lost ? hip::Error::kLaunchFailure : hip::Error::kSuccess;
}

#define MILLRACE_HIP_TRY(expression)                                                                 \
  do {                                                                                               \
    if (const auto error_ = (expression); error_ != ::millrace::hip::Error::kSuccess) return error_; \
  } while (false)

/// The stream of a handle; null, and a finding, if the handle is not a stream.
StreamState* find_stream(State&, Call&, hip::Stream);
EventState* find_event(State&, Call&, hip::Event);

}  // namespace millrace::hip_standin
