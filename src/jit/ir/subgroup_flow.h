// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// How a value varies between the threads of a subgroup at one point of the code. The integers of all threads lie in
/// one window of 2^window_bits numbers that begins at a multiple of 2^window_bits. A window of one number means a
/// uniform value; the thread ids of a subgroup form a window of the subgroup's size. Values that are not integers are
/// uniform or have kNoWindow.
struct LaneSpread {
  static constexpr std::uint8_t kNoWindow = 255;
  std::uint8_t window_bits = 0;
  std::uint8_t zero_bits = 0;    // every thread's number is a multiple of 2^zero_bits; 0 if not known
  bool is_non_negative = false;  // no number is negative
  bool needs_proof = false;      // uniform, but an analysis that only tracks uniform operands cannot prove it
  bool is_uniform() const { return window_bits == 0; }
  friend bool operator==(const LaneSpread&, const LaneSpread&) = default;
};

/// Which code the threads of a subgroup run together. The analysis is conservative: threads may also run other code
/// together.
struct SubgroupFlow {
  IdVector<MachineValueId, LaneSpread> values;
  std::vector<bool> is_together;  // by BlockId: whether all threads of the subgroup enter the block or none do
};

/// How a subgroup runs an `if` or a `for`: whether its threads agree on the block, or on when the loop ends.
struct BranchSpread {
  bool agrees = false;
  bool needs_proof = false;  // as in LaneSpread
};
BranchSpread spread_of_branch(const MachineKernel&, const SubgroupFlow&, const MachineInstruction&);

/// Finds branches that all threads of a subgroup take together: their conditions do not depend on the thread,
/// distinguish only whole subgroups (thread_id / 32, thread_id < 64), or come from a ballot or a broadcast. A load is
/// uniform if all threads use the same address. Iterates to a fixed point: usually O(instructions * loop depth).
/// Precondition: verify() finds no other error.
SubgroupFlow analyze_subgroup_flow(const MachineKernel&);

/// Whether a block, or a block inside it, has a shuffle or a ballot. These exchange values between the subgroup's
/// threads.
bool exchanges_lanes(const MachineKernel&, BlockId);
bool exchanges_lanes(KernelOp);

}  // namespace millrace
