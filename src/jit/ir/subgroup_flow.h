// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// How a value differs between the threads of a subgroup that are at one place: integers are in one window of
/// 2^window_bits numbers that begins at a multiple of 2^window_bits. A window of one number is one value for all; the
/// numbers of a subgroup's threads are a window of its size. Anything else has kNoWindow, or a window of 1.
struct LaneSpread {
  static constexpr std::uint8_t kNoWindow = 255;
  std::uint8_t window_bits = 0;
  std::uint8_t zero_bits = 0;  // every number is a multiple of 2^zero_bits; said of constants and what they give
  bool is_natural = false;     // no number is below 0
  bool is_hidden = false;      // equal in all threads for a reason that is not that all operands are
  bool is_uniform() const { return window_bits == 0; }
  friend bool operator==(const LaneSpread&, const LaneSpread&) = default;
};

/// Which code the threads of a subgroup run together. What is said holds; threads may run more than that together.
struct SubgroupFlow {
  IdVector<MachineValueId, LaneSpread> values;
  std::vector<bool> is_together;  // by BlockId: that all of the subgroup are there, or none
};

/// How a subgroup takes an `if` or a `for`: its threads agree on the block, or on when the turns end.
struct BranchSpread {
  bool agrees = false;
  bool is_hidden = false;  // as LaneSpread: who knows only of operands that are equal believes that they do not
};
BranchSpread spread_of_branch(const MachineKernel&, const SubgroupFlow&, const MachineInstruction&);

/// What is known to be taken together: branches on what does not depend on the thread, on whole subgroups alone
/// (thread_id / 32, thread_id < 64), or on what a ballot or a broadcast gives. A load at one place gives all the same.
/// Follows the kernel until nothing changes: O(instructions * depth of loops), as a rule. Precondition: verify()
/// finds nothing else wrong with it.
SubgroupFlow analyze_subgroup_flow(const MachineKernel&);

/// Whether a block, or one within it, has a shuffle or a ballot: these take values from all lanes of the subgroup.
bool exchanges_lanes(const MachineKernel&, BlockId);
bool exchanges_lanes(KernelOp);

}  // namespace millrace
