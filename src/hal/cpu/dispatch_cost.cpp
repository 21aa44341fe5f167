// SPDX-License-Identifier: Apache-2.0
// Learns how long dispatches take, to decide how many threads are worth waking.
#include "hal/cpu/dispatch_cost.h"

#include <algorithm>

namespace millrace {
namespace {

/// The assumed speed before any measurement: kernels that read memory once reach 10 to 30 bytes per nanosecond.
constexpr double kGuessedBytesPerNs = 20;
/// Measures the first kFirstRuns runs (the very first has cold caches, pages and code), and then every 64th.
constexpr std::uint32_t kFirstRuns = 4, kRunsPerMeasurement = 64;

bool is_measured(std::uint32_t run) { return run < kFirstRuns || run % kRunsPerMeasurement == 0; }

}  // namespace

bool DispatchCost::begin_run(std::uint64_t bytes) {
  if (bytes_.load(std::memory_order_relaxed) != bytes) {
    bytes_.store(bytes, std::memory_order_relaxed);
    ns_per_group_.store(kUnknown, std::memory_order_relaxed);
    num_runs_.store(1, std::memory_order_relaxed);
    return true;
  }
  // Not an atomic addition: a lost count makes no difference.
  const std::uint32_t run = num_runs_.load(std::memory_order_relaxed);
  num_runs_.store(run + 1, std::memory_order_relaxed);
  return is_measured(run);
}

bool DispatchCost::is_known_small(std::uint32_t num_groups, std::uint64_t bytes) {
  const float known = ns_per_group_.load(std::memory_order_relaxed);
  // Work that is shorter than two shares stays on one thread.
  if (known == kUnknown || known * static_cast<float>(num_groups) >= 2 * kShareFactor * kAwakeNs) return false;
  const std::uint32_t run = num_runs_.load(std::memory_order_relaxed);
  if (is_measured(run) || bytes_.load(std::memory_order_relaxed) != bytes) return false;
  num_runs_.store(run + 1, std::memory_order_relaxed);
  return true;
}

void DispatchCost::measured(double ns, std::uint32_t num_groups) {
  const auto found = static_cast<float>(ns / num_groups);
  const float before = ns_per_group_.load(std::memory_order_relaxed);
  ns_per_group_.store(before == kUnknown ? found : std::min(found, 2 * before + 1), std::memory_order_relaxed);
}

double DispatchCost::ns_per_group(std::uint32_t num_groups, std::uint64_t bytes) const {
  const float known = ns_per_group_.load(std::memory_order_relaxed);
  return known == kUnknown ? static_cast<double>(bytes) / kGuessedBytesPerNs / num_groups : known;
}

std::uint32_t DispatchCost::num_workers(double ns, std::uint64_t num_groups, std::uint32_t concurrency,
                                        std::uint32_t num_awake, double wake_ns) {
  const auto worth = [&](double min_ns, std::uint32_t max_workers) {
    return static_cast<std::uint32_t>(std::min<double>(ns / min_ns, max_workers));
  };
  const auto max_workers = static_cast<std::uint32_t>(std::min<std::uint64_t>(concurrency, num_groups));
  const double awake_ns = kShareFactor * kAwakeNs;
  return std::max(
      {1u, worth(awake_ns, std::min(max_workers, num_awake + 1)), worth(std::max(wake_ns, awake_ns), max_workers)});
}

}  // namespace millrace
