// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "millrace/base/status.h"

namespace millrace {

/// A timeline semaphore: a value that only grows. Thread-safe. A failure is final and reaches every waiter, now and
/// later, with its status. Source: Vulkan's timeline semaphores.
class Semaphore {
 public:
  explicit Semaphore(std::uint64_t initial_value = 0) : value_(initial_value) {}

  /// The value, or the failure.
  Result<std::uint64_t> query() const;
  /// Fails (and changes nothing) when `value` is not greater than the present one.
  Status signal(std::uint64_t value);
  void fail(Status status);
  /// Waits until the value is at least `value`. kUnavailable after `timeout`.
  Status wait(std::uint64_t value, std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t value_;
  Status failure_;
};

/// A point on a timeline, to wait for or to signal.
struct Timepoint {
  Semaphore* semaphore = nullptr;
  std::uint64_t value = 0;
};

}  // namespace millrace
