// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "millrace/base/status.h"

namespace millrace {

/// Shares units of work out among workers. Each has a contiguous share, since what neighbouring units both read then
/// stays in one core's cache, and works through it unit by unit. Who has finished takes units from the ends of the
/// others' shares. No worker waits for another: one alone does everything.
class WorkShares {
 public:
  explicit WorkShares(std::uint32_t most_workers)
      : most_workers_(most_workers), shares_(std::make_unique<Share[]>(most_workers)) {}

  std::uint32_t most_workers() const { return most_workers_; }
  /// Share i ends before unit `ends[i]`, where share i + 1 begins; share 0 begins with unit 0. At least 1 share and at
  /// most `most_workers`. No worker may be at work.
  void begin(std::span<const std::uint32_t> ends);
  /// What worker number `worker` runs next, or nothing when it has finished. Thread-safe.
  std::optional<std::uint32_t> next(std::uint32_t worker);

 private:
  /// Begin and end of what nobody has taken, in one word.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> rest = 0;
  };
  static std::optional<std::uint32_t> take(Share&, bool is_own);

  std::uint32_t most_workers_;
  std::uint32_t num_workers_ = 1;
  std::unique_ptr<Share[]> shares_;
};

/// What went wrong with work that has an order. Of several failures the first in that order is kept, and what comes
/// before it is still run, so that the error does not depend on the order or the number of threads.
class WorkFailure {
 public:
  static constexpr std::uint64_t kNone = UINT64_MAX;

  /// Whether what stands here makes no difference any more.
  bool is_before(std::uint64_t place) const { return first() <= place; }
  /// Where the failure that is kept stands, or kNone.
  std::uint64_t first() const { return first_.load(std::memory_order_relaxed); }
  void note(std::uint64_t place, Status);
  void note(std::uint64_t place, std::exception_ptr);
  /// Returns the status, or throws the exception. All workers have finished.
  Status take();

 private:
  bool is_first(std::uint64_t place);

  std::atomic<std::uint64_t> first_ = kNone;
  std::mutex mutex_;
  Status status_;
  std::exception_ptr thrown_;
};

}  // namespace millrace
