// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "millrace/base/status.h"

namespace millrace {

/// Groups [first, end) of a dispatch.
struct GroupRange {
  std::uint32_t first = 0, end = 0;
  std::uint32_t size() const { return end - first; }
};

/// Shares the groups of one dispatch out among workers. Each has a contiguous share, since what neighbouring groups
/// both read then stays in one core's cache, and works through it chunk by chunk. Who has finished takes chunks from
/// the ends of the others' shares. No worker waits for another: one alone does everything.
class GroupShares {
 public:
  explicit GroupShares(std::uint32_t most_workers)
      : most_workers_(most_workers), shares_(std::make_unique<Share[]>(most_workers)) {}

  std::uint32_t most_workers() const { return most_workers_; }
  /// Makes `num_workers` shares, at least 1 and at most `most_workers`. No worker may be at work.
  void begin(GroupRange all, std::uint32_t num_workers);
  /// What worker number `worker` runs next, or nothing when it has finished. Thread-safe.
  std::optional<GroupRange> next(std::uint32_t worker);

 private:
  /// Begin and end of what nobody has taken, in one word.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> rest = 0;
  };
  std::optional<GroupRange> take(Share&, bool is_own);

  std::uint32_t most_workers_;
  std::uint32_t num_workers_ = 1;
  std::uint32_t chunk_ = 1;
  std::unique_ptr<Share[]> shares_;
};

/// What went wrong with the chunks of one dispatch. Of several failures the one with the lowest groups is kept, and
/// chunks below it are still run, so that the error does not depend on the order or the number of threads.
class GroupFailure {
 public:
  /// Whether a chunk that begins at this group makes no difference any more.
  bool is_before(std::uint32_t first_group) const { return lowest_.load(std::memory_order_relaxed) <= first_group; }
  void note(std::uint32_t first_group, Status);
  void note(std::uint32_t first_group, std::exception_ptr);
  /// Returns the status, or throws the exception. All workers have finished.
  Status take();

 private:
  bool is_lowest(std::uint32_t first_group);

  std::atomic<std::uint64_t> lowest_ = UINT64_MAX;
  std::mutex mutex_;
  Status status_;
  std::exception_ptr thrown_;
};

}  // namespace millrace
