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

/// Consecutive units of work [first, end).
struct UnitRange {
  std::uint32_t first = 0, end = 0;
  friend bool operator==(const UnitRange&, const UnitRange&) = default;
};

/// Divides units of work among workers. Each worker has a contiguous share, because adjacent units read the same data,
/// which then stays in one core's cache. A worker that has finished takes units from the ends of other shares. No
/// worker waits for another: a single worker would do everything. Workers take an eighth of the rest of a share at a
/// time, so the pieces shrink towards the end: a worker that the system stops holds at most one piece, and the last
/// pieces end at about the same time.
class WorkShares {
 public:
  static constexpr std::uint32_t kUnlimited = 0xffff'ffff;

  explicit WorkShares(std::uint32_t max_workers)
      : max_workers_(max_workers), shares_(std::make_unique<Share[]>(max_workers)) {}

  std::uint32_t max_workers() const { return max_workers_; }
  /// Share i ends before unit `ends[i]`, where share i + 1 begins; share 0 begins with unit 0. There are 1 to
  /// `max_workers` shares. A worker takes at most `max_units` (at least 1) at a time. Call it while no worker is
  /// running.
  void begin(std::span<const std::uint32_t> ends, std::uint32_t max_units);
  /// The units that worker number `worker` runs next, or nothing when it has finished. Thread-safe.
  std::optional<UnitRange> next(std::uint32_t worker);

 private:
  /// Begin and end of the units that nobody has taken, in one word.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> rest = 0;
  };
  std::optional<UnitRange> take(Share&, bool is_own) const;

  std::uint32_t max_workers_;
  std::uint32_t num_workers_ = 1;
  std::uint32_t max_units_ = 1;
  std::unique_ptr<Share[]> shares_;
};

/// The failure of work whose parts are ordered. If several parts fail, the first failure in that order is kept, and the
/// parts before it still run, so that the error depends neither on timing nor on the number of threads.
class WorkFailure {
 public:
  static constexpr std::uint64_t kNone = UINT64_MAX;

  /// Whether the failure is at this place or before it, so that work at this place no longer matters.
  bool is_before(std::uint64_t place) const { return first() <= place; }
  /// The place of the failure that is kept, or kNone.
  std::uint64_t first() const { return first_.load(std::memory_order_relaxed); }
  void note(std::uint64_t place, Status);
  void note(std::uint64_t place, std::exception_ptr);
  /// Returns the status, or throws the exception. Precondition: all workers have finished.
  Status take();

 private:
  bool is_first(std::uint64_t place);

  std::atomic<std::uint64_t> first_ = kNone;
  std::mutex mutex_;
  Status status_;
  std::exception_ptr thrown_;
};

}  // namespace millrace
