// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace millrace {

/// The time per group of one recorded dispatch, or per block of a copy or fill. It decides how many threads share the
/// stage. The cost of a kernel is not known in advance, so it is measured: at the first runs, then at every 64th, and
/// again when the sizes have changed. Until then it is guessed from the bytes that the kernel may touch. Thread-safe.
/// If two threads measure at the same time, one measurement is lost. This affects only speed: results do not depend on
/// which thread runs a group.
class DispatchCost {
 public:
  /// The cost of handing a share to an awake thread, in nanoseconds: 100 to 400, plus moving the data to another core's
  /// cache.
  static constexpr double kAwakeNs = 1000;
  /// A share must take at least this many times as long as handing it over.
  static constexpr double kShareFactor = 2;

  /// Begins a run. Returns whether to measure it.
  bool begin_run(std::uint64_t bytes);
  /// Whether this new run is known to be too short to share. Returns false if the run should be measured or nothing is
  /// known; then call begin_run().
  bool is_known_small(std::uint32_t num_groups, std::uint64_t bytes);
  /// Adds a measurement. A measurement far above the previous one counts as twice the previous one: the system may have
  /// run something else meanwhile.
  void measured(double ns, std::uint32_t num_groups);
  /// The time of one group in nanoseconds: guessed from the bytes until it has been measured.
  double ns_per_group(std::uint32_t num_groups, std::uint64_t bytes) const;
  /// The number of threads that should share work of `ns` nanoseconds: at most `concurrency`, and at most one per
  /// group. Each thread's work takes at least twice as long as handing it to an awake thread or, if sleeping threads
  /// must be woken, at least as long as waking one. If the result is 1, the calling thread does everything.
  static std::uint32_t num_workers(double ns, std::uint64_t num_groups, std::uint32_t concurrency,
                                   std::uint32_t num_awake, double wake_ns);

 private:
  static constexpr float kUnknown = -1;

  std::atomic<float> ns_per_group_ = kUnknown;
  std::atomic<std::uint64_t> bytes_ = 0;  // the bytes for which the cost was measured
  std::atomic<std::uint32_t> num_runs_ = 0;
};

}  // namespace millrace
