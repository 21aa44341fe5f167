// SPDX-License-Identifier: Apache-2.0
// Kernels with one injected mistake each, which a simulator must find.
#pragma once

#include <string>
#include <vector>

#include "millrace/jit/machine_kernel.h"
#include "millrace/jit/memory_plan.h"

namespace millrace::test {

struct Mutant {
  std::string what;  // "block 2, instruction 0 (barrier)"
  MachineKernel kernel;
};

/// One a barrier, which it lacks.
std::vector<Mutant> without_each_barrier(const MachineKernel&);
/// One a slot, which is an element too short.
std::vector<Mutant> with_each_slot_shorter(const MachineKernel&);
/// One a comparison a < b that an `if` or a mask depends on, alone or joined to others, which is a <= b.
std::vector<Mutant> with_each_bound_off_by_one(const MachineKernel&);
/// Two a `for`, the one step longer and the one step shorter.
std::vector<Mutant> with_each_loop_off_by_one(const MachineKernel&);
/// One an `if`, which is always taken.
std::vector<Mutant> without_each_guard(const MachineKernel&);
/// One a masked load or store, all of whose lanes go to memory.
std::vector<Mutant> without_each_mask(const MachineKernel&);

/// One a pair of slots of one kind: both stand where the lower one did.
std::vector<MemoryPlan> with_each_pair_of_slots_overlapped(const MemoryPlan&);

}  // namespace millrace::test
