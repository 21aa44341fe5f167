// SPDX-License-Identifier: Apache-2.0
// The host's timeline semaphores, which also carry the failures of submissions to waiting threads.
#include "millrace/hal/semaphore.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"

namespace millrace {

// A reader that finds the wanted value takes no lock. The value changes only under the lock, so that a waiter that has
// checked it and is about to sleep misses no change.

std::shared_ptr<Semaphore> Semaphore::create(std::uint64_t initial_value) {
  struct HostSemaphore final : Semaphore {
    explicit HostSemaphore(std::uint64_t value) : Semaphore(value) {}
  };
  return std::make_shared<HostSemaphore>(std::min(initial_value, kMaxValue));
}

Status Semaphore::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Result<std::uint64_t> Semaphore::query() const {
  const std::uint64_t value = value_.load(std::memory_order_acquire);
  if (value == kFailed) return failure();
  return value;
}

std::vector<Semaphore::Waiter> Semaphore::take_due(std::uint64_t value) {
  if (waiters_.empty()) return {};
  std::vector<Waiter> due;
  due.reserve(waiters_.size());  // may throw, so it comes before the moves
  auto kept = waiters_.begin();
  for (Waiter& waiter : waiters_) {
    if (waiter.value <= value) {
      due.push_back(std::move(waiter));
    } else {
      if (&*kept != &waiter) *kept = std::move(waiter);
      ++kept;
    }
  }
  waiters_.erase(kept, waiters_.end());
  return due;
}

Status Semaphore::signal(std::uint64_t value) {
  return guard_allocations([&]() -> Status {
    std::vector<Waiter> due;
    {
      const std::lock_guard lock(mutex_);
      const std::uint64_t present = value_.load(std::memory_order_relaxed);
      if (present == kFailed) return failure_;
      if (value <= present) {
        return failed_precondition(fmt::format(
            "semaphore: signalled {}, expected more than its value {}; a timeline only grows", value, present));
      }
      if (value > kMaxValue) {
        return invalid_argument(fmt::format("semaphore: signalled {}, expected at most {}", value, kMaxValue));
      }
      due = take_due(value);
      value_.store(value, std::memory_order_release);
      changed_.notify_all();
    }
    for (const Waiter& waiter : due) waiter.callback(Status());
    return {};
  });
}

void Semaphore::fail(Status status) {
  if (status.ok()) status = invalid_argument("semaphore: failed with an ok status; give the error");
  std::vector<Waiter> due;
  {
    const std::lock_guard lock(mutex_);
    if (value_.load(std::memory_order_relaxed) == kFailed) return;
    failure_ = status;
    due.swap(waiters_);
    value_.store(kFailed, std::memory_order_release);
    changed_.notify_all();
  }
  for (const Waiter& waiter : due) waiter.callback(status);
}

Status Semaphore::wait(std::uint64_t value, std::chrono::nanoseconds timeout) const {
  return guard_allocations([&]() -> Status {
    const auto settled = [&] { return value_.load(std::memory_order_acquire) >= value; };  // true after a failure too
    if (!settled()) {
      std::unique_lock lock(mutex_);
      const Clock::time_point now = Clock::now();
      if (timeout > Clock::time_point::max() - now) {  // the clock cannot represent the deadline: wait forever
        changed_.wait(lock, settled);
      } else {
        changed_.wait_until(lock, now + timeout, settled);
      }
    }
    const std::uint64_t present = value_.load(std::memory_order_acquire);
    if (present == kFailed) return failure();
    if (present >= value) return {};
    return deadline_exceeded(
        fmt::format("semaphore: value {} after {} ns, expected at least {}; wait longer, or find the missing "
                    "signal",
                    present, timeout.count(), value));
  });
}

void Semaphore::on_reached(std::uint64_t value, OnReached callback) {
  Status status;
  {
    const std::lock_guard lock(mutex_);
    if (value_.load(std::memory_order_relaxed) < value) {
      waiters_.push_back({value, std::move(callback)});
      return;
    }
    status = failure_;
  }
  callback(status);
}

}  // namespace millrace
