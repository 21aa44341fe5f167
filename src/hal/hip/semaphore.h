// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "hal/hip/handles.h"
#include "millrace/hal/semaphore.h"

namespace millrace::hip {

/// The point on the device at which a value will be reached.
struct PendingPoint {
  SharedEvent event;       // recorded already
  std::size_t stream = 0;  // where it was recorded, in Channels::streams
};

/// A timeline that keeps an event for each value that queued work of the device will reach, so that other work of the
/// device can wait for the event without the host's help. The host sees a value once the device's thread signals it.
class HipSemaphore final : public Semaphore {
 public:
  HipSemaphore(std::shared_ptr<Context> context, std::uint64_t initial_value)
      : Semaphore(initial_value), context_(std::move(context)) {}

  bool is_of(const Context& context) const { return context_.get() == &context; }
  void add_pending(std::uint64_t value, PendingPoint point) {
    const std::lock_guard lock(mutex_);
    pending_.insert_or_assign(value, std::move(point));
  }
  void remove_pending(std::uint64_t value) {
    const std::lock_guard lock(mutex_);
    pending_.erase(value);
  }
  /// The first point that reaches at least `value`.
  std::optional<PendingPoint> find_pending(std::uint64_t value) const {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.lower_bound(value);
    return found == pending_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::shared_ptr<Context> context_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, PendingPoint> pending_;
};

}  // namespace millrace::hip
