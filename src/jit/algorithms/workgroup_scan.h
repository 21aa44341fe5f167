// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "millrace/jit/machine_builder.h"

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
    std::uint32_t width = 0;  // a power of two that is at most a subgroup, or the workgroup
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
  MachineValue scan_lanes(MachineValue mine);

  MachineBuilder& b_;
  Combine combine_;
  MachineValue identity_;
  std::uint32_t width_;
  std::uint32_t lanes_;  // of a subgroup that scan together
  MachineValue lane_;
  MachineValue place_;
  MemoryHandle totals_;
};

}  // namespace millrace
