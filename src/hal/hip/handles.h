// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "hal/hip/context.h"
#include "millrace/base/shared_bytes.h"

// Streams, events and modules that are released with their last owner.

namespace millrace::hip {

/// A stream of our own, or the application's.
class OwnedStream {
 public:
  static Result<std::shared_ptr<OwnedStream>> create(std::shared_ptr<Context>);
  OwnedStream(std::shared_ptr<Context> context, Stream stream, bool is_ours)
      : context_(std::move(context)), stream_(stream), is_ours_(is_ours) {}
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream();
  Stream get() const { return stream_; }

 private:
  std::shared_ptr<Context> context_;
  Stream stream_;
  bool is_ours_;
};

/// Keeps unused events for reuse. Thread-safe.
class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  enum class Kind : std::uint8_t { kOrder, kTime };

  explicit EventPool(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;
  ~EventPool();

  /// Takes an event, which returns to the pool when its last owner releases it.
  Result<std::shared_ptr<OpaqueEvent>> take(Kind);
  /// Adds an event if the pool has none, so that the next take() does not have to create one.
  Status reserve(Kind);

 private:
  /// Precondition: the lock is held.
  Result<Event> create(Kind);

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::vector<Event> free_[2];  // per kind
  std::size_t num_made_ = 0;
};
using SharedEvent = std::shared_ptr<OpaqueEvent>;

/// Blocks until the recorded work has ended. Returns false once `limit` has passed (0: no limit), or kCloseLimit after
/// the device was found to be lost. HIP's own wait has no time limit.
Result<bool> try_wait_for_event(Context&, std::string_view where, Event, std::chrono::nanoseconds limit);
/// Like try_wait_for_event(), but if the time runs out, marks the device as hung and returns that status.
Status wait_for_event(Context&, std::string_view where, Event, std::chrono::nanoseconds limit);
/// The limit for work that should have ended already.
inline constexpr std::chrono::seconds kCloseLimit{2};
/// Marks the device as lost because its work does not end, and returns the status that says so.
Status hung(Context&, std::string_view where, std::chrono::nanoseconds limit);

/// A code object that the runtime has loaded.
class LoadedModule {
 public:
  static Result<std::shared_ptr<LoadedModule>> load(std::shared_ptr<Context>, std::string_view where, SharedBytes code);
  LoadedModule(std::shared_ptr<Context> context, Module module, SharedBytes code)
      : context_(std::move(context)), module_(module), code_(std::move(code)) {}
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule();
  Module get() const { return module_; }

 private:
  std::shared_ptr<Context> context_;
  Module module_;
  SharedBytes code_;  // kept, because not every runtime copies it
};

}  // namespace millrace::hip
