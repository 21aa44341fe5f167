// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace {

/// Sleeps while `word` is `value`, for at most `duration`. It may return early. Needed because std::atomic cannot wait
/// with a time limit.
inline void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                        std::chrono::nanoseconds duration) {
  static_assert(sizeof(word) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
}

/// Wakes a thread that is in sleep_while(word), if there is one.
inline void wake_one(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace millrace
