// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/machine_builder.h"

namespace millrace::test {

// What the lanes of a subgroup compute together, by shuffles. `op` is lanewise and associative; all threads are there.

/// All lanes get the result: a tree over neighbours at halving distance. `op` is commutative, too.
MachineValue subgroup_reduce(MachineBuilder& b, KernelOp op, MachineValue value, std::uint32_t subgroup_size);
/// Lane i gets the lanes up to i combined, lower ones left: a tree over neighbours at doubling distance.
MachineValue subgroup_inclusive_scan(MachineBuilder& b, KernelOp op, MachineValue value, std::uint32_t subgroup_size);

}  // namespace millrace::test
