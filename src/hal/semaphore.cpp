// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/semaphore.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"

namespace millrace {

Result<std::uint64_t> Semaphore::query() const try {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  return value_;
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("semaphore");
}

Status Semaphore::signal(std::uint64_t value) try {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  if (value <= value_) {
    return failed_precondition(
        fmt::format("semaphore: signalled {}, expected more than its value {}; a timeline only "
                    "grows",
                    value, value_));
  }
  value_ = value;
  // Under the lock, so that a waiter which then destroys the semaphore cannot do so before we are done with it.
  changed_.notify_all();
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("semaphore");
}

void Semaphore::fail(Status status) {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return;
  failure_ = status.ok() ? invalid_argument("semaphore: failed with an ok status; give the error") : std::move(status);
  changed_.notify_all();
}

Status Semaphore::wait(std::uint64_t value, std::chrono::nanoseconds timeout) const try {
  using Clock = std::chrono::steady_clock;
  const auto settled = [&] { return !failure_.ok() || value_ >= value; };
  std::unique_lock lock(mutex_);
  if (!settled()) {
    const Clock::time_point now = Clock::now();
    if (timeout > Clock::time_point::max() - now) {  // the deadline is beyond the clock: for ever
      changed_.wait(lock, settled);
    } else {
      changed_.wait_until(lock, now + timeout, settled);
    }
  }
  if (!failure_.ok()) return failure_;
  if (value_ >= value) return {};
  return unavailable(
      fmt::format("semaphore: value {} after {} ns, expected at least {}; wait longer, or look for the "
                  "signal that did not come",
                  value_, timeout.count(), value));
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("semaphore");
}

}  // namespace millrace
