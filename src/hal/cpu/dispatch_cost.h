// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace millrace {

/// How long the groups of one recorded dispatch take, or the blocks of a copy or fill, which decides how many threads
/// its stage is worth. Nothing says what a kernel costs, so it is measured: at the first runs, then at every 64th, and
/// anew when the sizes have changed. Until then the bytes that it may touch give a guess. Thread-safe; of two
/// measurements at one time one is lost, which costs speed alone: results do not depend on who runs a group.
class DispatchCost {
 public:
  /// What handing a share to a thread that is awake costs, in nanoseconds: 100 to 400, with what it costs to move the
  /// data to another core's cache.
  static constexpr double kAwakeNs = 1000;
  /// A share must take this many times what handing it over costs.
  static constexpr double kShareFactor = 2;

  /// A new run: whether it should measure.
  bool begin_run(std::uint64_t bytes);
  /// Whether this new run takes too little time to share it with anybody, as far as is known. Where it should be
  /// measured, or nothing is known, it says no, and begin_run() has to follow.
  bool is_known_small(std::uint32_t num_groups, std::uint64_t bytes);
  /// A measurement that is far above the one before it counts as twice that: the system may have run something else
  /// meanwhile.
  void measured(double ns, std::uint32_t num_groups);
  /// What is known of one group, in nanoseconds, or guessed by the bytes.
  double ns_per_group(std::uint32_t num_groups, std::uint64_t bytes) const;
  /// How many threads to share work of so many nanoseconds among: at most `concurrency`, each with work for twice what
  /// it costs to reach one that is awake, or for as long as it takes to wake one, and never more than groups. 1: the
  /// calling thread does it all.
  static std::uint32_t num_workers(double ns, std::uint64_t num_groups, std::uint32_t concurrency,
                                   std::uint32_t num_awake, double wake_ns);

 private:
  static constexpr float kUnknown = -1;

  std::atomic<float> ns_per_group_ = kUnknown;
  std::atomic<std::uint64_t> bytes_ = 0;  // for which it was measured
  std::atomic<std::uint32_t> num_runs_ = 0;
};

}  // namespace millrace
