// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/call.h"
#include "tests/hip_standin/runtime/schedule.h"

namespace millrace::hip_standin {

StreamState* find_stream(State& state, Call& call, hip::Stream handle) {
  StreamState* const stream = state.streams.find(handle);
  if (stream == nullptr) {
    const bool is_null = handle == nullptr;
    misuse(state, call, hip::Error::kInvalidHandle,
           is_null ? "the null stream, which waits for others" : "a stream that is not there");
    return nullptr;
  }
  call.stream = stream->number;
  call.device = stream->device;
  return stream;
}

EventState* find_event(State& state, Call& call, hip::Event handle) {
  EventState* const event = state.events.find(handle);
  if (event == nullptr) {
    misuse(state, call, hip::Error::kInvalidHandle, "an event that is not there");
    return nullptr;
  }
  call.event = event->number;
  call.device = event->device;
  return event;
}

}  // namespace millrace::hip_standin

namespace millrace::hip {
namespace {

using namespace hip_standin;  // whose place this is in

std::uint64_t commands_per_query(State& state) {
  const std::uint64_t max_commands = state.options.max_commands_per_query;
  return state.options.seed == 0 ? max_commands : state.random() % (max_commands + 1);
}

}  // namespace

Error hipStreamCreateWithFlags(Stream* handle, unsigned flags) {
  return call(Entry::hipStreamCreateWithFlags, [&](State& state, Call& call) {
    MILLRACE_HIP_TRY(about_device(state, call, state.current_device()));
    if (flags != kStreamNonBlocking) {
      return misuse(state, call, Error::kInvalidValue, "the stream is one that waits for the null stream");
    }
    auto stream = std::make_shared<StreamState>(StreamState{.device = call.device, .priority = state.random()});
    call.stream = stream->number = state.streams.add(stream);
    *handle = state.streams.handle_of<Stream>(stream->number);
    return Error::kSuccess;
  });
}

Error hipStreamDestroy(Stream handle) {
  return call(Entry::hipStreamDestroy, [&](State& state, Call& call) {
    StreamState* const stream = find_stream(state, call, handle);
    if (stream == nullptr) return Error::kInvalidHandle;
    if (!stream->commands.empty()) {
      misuse(state, call, Error::kSuccess, "it has queued commands, and need not wait for them");
      if (!run_until(state, [&] { return stream->commands.empty(); })) return would_block(state, call);
    }
    state.streams.remove(handle);
    return Error::kSuccess;
  });
}

Error hipStreamWaitEvent(Stream handle, Event event_handle, unsigned flags) {
  return call(Entry::hipStreamWaitEvent, [&](State& state, Call& call) {
    const EventState* const event = find_event(state, call, event_handle);
    StreamState* const stream = find_stream(state, call, handle);
    if (stream == nullptr || event == nullptr) return Error::kInvalidHandle;
    if (flags != 0) return Error::kInvalidValue;
    MILLRACE_HIP_TRY(about_device(state, call, stream->device));
    if (event->last != nullptr) enqueue(state, *stream, QueuedWait{event->last});
    return Error::kSuccess;
  });
}

Error hipEventCreateWithFlags(Event* handle, unsigned flags) {
  return call(Entry::hipEventCreateWithFlags, [&](State& state, Call& call) {
    MILLRACE_HIP_TRY(about_device(state, call, state.current_device()));
    if ((flags & ~kEventDisableTiming) != 0) return Error::kInvalidValue;
    auto event = std::make_shared<EventState>(
        EventState{.device = call.device, .has_times = (flags & kEventDisableTiming) == 0});
    event->number = state.events.add(event);
    *handle = state.events.handle_of<Event>(event->number);
    return Error::kSuccess;
  });
}

Error hipEventDestroy(Event handle) {
  return call(Entry::hipEventDestroy, [&](State& state, Call& call) {
    if (find_event(state, call, handle) == nullptr) return Error::kInvalidHandle;
    state.events.remove(handle);
    return Error::kSuccess;
  });
}

Error hipEventRecord(Event handle, Stream stream_handle) {
  return call(Entry::hipEventRecord, [&](State& state, Call& call) {
    EventState* const event = find_event(state, call, handle);
    StreamState* const stream = find_stream(state, call, stream_handle);
    if (stream == nullptr || event == nullptr) return Error::kInvalidHandle;
    MILLRACE_HIP_TRY(about_device(state, call, stream->device));
    if (event->device != stream->device) {
      return misuse(state, call, Error::kInvalidHandle, "the event and the stream are of different devices");
    }
    event->last = std::make_shared<EventRecord>();
    enqueue(state, *stream, QueuedRecord{event->last});
    return Error::kSuccess;
  });
}

Error hipEventQuery(Event handle) {
  return call(Entry::hipEventQuery, [&](State& state, Call& call) {
    const EventState* const event = find_event(state, call, handle);
    if (event == nullptr) return Error::kInvalidHandle;
    MILLRACE_HIP_TRY(about_device(state, call, event->device));
    if (event->last == nullptr) return Error::kSuccess;
    for (std::uint64_t left = commands_per_query(state); left > 0 && !event->last->is_done; --left) run_one(state);
    // A command may have lost the device.
    MILLRACE_HIP_TRY(about_device(state, call, event->device));
    return event->last->is_done ? Error::kSuccess : Error::kNotReady;
  });
}

Error hipEventElapsedTime(float* milliseconds, Event begin_handle, Event end_handle) {
  return call(Entry::hipEventElapsedTime, [&](State& state, Call& call) {
    const EventState* const begin = find_event(state, call, begin_handle);
    const EventState* const end = find_event(state, call, end_handle);
    if (begin == nullptr || end == nullptr) return Error::kInvalidHandle;
    MILLRACE_HIP_TRY(about_device(state, call, end->device));
    const bool have_times = begin->has_times && end->has_times && begin->device == end->device;
    if (!have_times || begin->last == nullptr || end->last == nullptr) {
      return misuse(state, call, Error::kInvalidHandle, "an event that has no time, or one of another device");
    }
    if (!begin->last->is_done || !end->last->is_done) return Error::kNotReady;
    const auto ns = static_cast<std::int64_t>(end->last->time_ns - begin->last->time_ns);
    *milliseconds = static_cast<float>(ns) * 1e-6f;
    return Error::kSuccess;
  });
}

}  // namespace millrace::hip
