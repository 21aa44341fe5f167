// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "millrace/base/callback.h"
#include "millrace/base/status.h"

namespace millrace {

/// A timeline semaphore: a value that only grows, shared by the host and devices. Thread-safe. A failure is final:
/// every present and future waiter gets the status of the first failure. Whoever will signal a semaphore holds a
/// reference to it.
/// Source: Vulkan's timeline semaphores.
class Semaphore {
 public:
  /// The maximum value.
  static constexpr std::uint64_t kMaxValue = UINT64_MAX - 1;
  using Clock = std::chrono::steady_clock;
  /// Receives ok, or the failure.
  using OnReached = Callback<const Status&>;

  /// A semaphore of the host. Every device can wait for it and signal it; a device waits more cheaply for one that it
  /// made itself (Device::create_semaphore). `initial_value` is at most kMaxValue.
  static std::shared_ptr<Semaphore> create(std::uint64_t initial_value = 0);

  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  virtual ~Semaphore() = default;

  /// The value, or the failure.
  Result<std::uint64_t> query() const;
  /// Fails, and changes nothing, if `value` is not greater than the current value, or is above kMaxValue.
  Status signal(std::uint64_t value);
  /// Makes the semaphore fail. Only the first failure counts.
  void fail(Status status);
  /// Blocks until the value is at least `value`, even if nobody has submitted that signal yet. Fails with the
  /// semaphore's failure, or with kDeadlineExceeded after `timeout`.
  Status wait(std::uint64_t value, std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) const;
  /// Calls `callback` once: when the value is at least `value`, or when the semaphore fails. If that has already
  /// happened, calls it at once; otherwise later, on the thread that signals. The callback must not block that thread,
  /// and must not throw.
  void on_reached(std::uint64_t value, OnReached callback);

 protected:
  explicit Semaphore(std::uint64_t initial_value) : value_(initial_value) {}

 private:
  struct Waiter {
    std::uint64_t value;
    OnReached callback;
  };
  static constexpr std::uint64_t kFailed = UINT64_MAX;

  Status failure() const;
  /// Removes from `waiters_`, and returns, the callbacks that are due. Precondition: the lock is held.
  std::vector<Waiter> take_due(std::uint64_t value);

  std::atomic<std::uint64_t> value_;  // kFailed: see failure_
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Status failure_;
  std::vector<Waiter> waiters_;
};

/// A point on a timeline, to wait for or to signal.
struct Timepoint {
  std::shared_ptr<Semaphore> semaphore = {};
  std::uint64_t value = 0;

  /// See Semaphore::wait. Precondition: there is a semaphore.
  Status wait(std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) const {
    return semaphore->wait(value, timeout);
  }
};

}  // namespace millrace
