// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "jit/algorithms/size_margin.h"

namespace millrace {

struct ScannedValue {
  MachineValue before;  // the values of the threads before this one, combined
  MachineValue total;   // the values of all threads, combined
};

/// Combines one value per thread over groups of `width` neighbouring threads. Threads of a subgroup use shuffles. The
/// whole workgroup also uses one word of workgroup memory per subgroup.
class WorkgroupScan {
 public:
  using Combine = std::function<MachineValue(MachineValue, MachineValue)>;  // must be associative

  struct Threads {
    PowerOfTwo width;  // at most a subgroup, or the whole workgroup
    std::uint32_t subgroup_size = 0;
  };
  /// Precondition: set_workgroup was called.
  WorkgroupScan(MachineBuilder& b, Combine combine, MachineValue identity, const Threads& threads);

  /// This thread's index among the `width` threads, as i32.
  MachineValue place() { return place_; }

  /// All threads must take part. Between two calls of run(), call next_run().
  ScannedValue run(MachineValue mine);
  /// Waits until all threads have read the results of the last run().
  void next_run();

 private:
  MachineValue scan_lanes(MachineValue mine, std::uint32_t distance = 1);
  ScannedValue run_subgroup(MachineValue inclusive, MachineValue before);
  ScannedValue run_workgroup(MachineValue inclusive, MachineValue before);
  bool may_be_workgroup() const { return width_.maximum > subgroup_size_; }

  MachineBuilder& b_;
  Combine combine_;
  MachineValue identity_;
  PowerOfTwo width_;
  std::uint32_t subgroup_size_;
  MachineValue lane_;
  MachineValue place_;
  MachineValue last_;                       // index of the last thread that scans with this one: i32
  std::vector<MachineValue> has_distance_;  // [i]: whether 2^i < width; only if the width is known at run time
  MachineValue is_workgroup_;               // only if the width is known at run time
  MemoryHandle totals_;
};

}  // namespace millrace
