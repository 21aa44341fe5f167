// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "jit/algorithms/size_margin.h"

namespace millrace {

struct ScannedValue {
  MachineValue before;  // of the threads before this one, combined
  MachineValue total;   // of all
};

/// Combines a value of each of `width` neighbouring threads: some of a subgroup, by shuffles, or all of the workgroup,
/// with a word of workgroup memory a subgroup.
class WorkgroupScan {
 public:
  using Combine = std::function<MachineValue(MachineValue, MachineValue)>;  // associative

  struct Threads {
    PowerOfTwo width;  // at most a subgroup, or the workgroup
    std::uint32_t subgroup_size = 0;
  };
  /// After set_workgroup.
  WorkgroupScan(MachineBuilder& b, Combine combine, MachineValue identity, const Threads& threads);

  /// This thread's number among the `width`: i32.
  MachineValue place() { return place_; }

  /// All threads are there. Between two runs stands next_run().
  ScannedValue run(MachineValue mine);
  /// Waits until all threads have what an earlier run gave.
  void next_run();

 private:
  MachineValue scan_lanes(MachineValue mine, std::uint32_t distance = 1);
  ScannedValue run_subgroup(MachineValue inclusive, MachineValue before);
  ScannedValue run_workgroup(MachineValue inclusive, MachineValue before);
  bool may_be_workgroup() const { return width_.most > subgroup_size_; }

  MachineBuilder& b_;
  Combine combine_;
  MachineValue identity_;
  PowerOfTwo width_;
  std::uint32_t subgroup_size_;
  MachineValue lane_;
  MachineValue place_;
  MachineValue last_;                       // number of the last of the lanes that scan together: i32
  std::vector<MachineValue> has_distance_;  // by its logarithm; where a run decides on the width
  MachineValue is_workgroup_;               // likewise
  MemoryHandle totals_;
};

}  // namespace millrace
