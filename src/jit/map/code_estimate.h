// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/hal/target_spec.h"
#include "millrace/jit/body.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// Whether a masked load or store is an instruction; else it is a branch for each lane.
bool has_masked_access(const TargetSpec&, DType);

/// What a kernel for a CPU may have of `estimate_instructions`. LLVM takes 30 to 45 us for each, so this is less than
/// 100 ms, and about 20 KiB of code.
inline constexpr std::int64_t kMaxKernelInstructions = 1800;

/// The limit of a map's body, which a kernel has two copies of: whole vectors and the last ones.
inline constexpr std::int64_t kMaxMapInstructions = kMaxKernelInstructions / 2 - 100;

/// Instructions of the target, about: LLVM takes some of ours apart into one piece a lane.
std::int64_t estimate_instructions(const MachineKernel&, const TargetSpec&);

/// Estimates one copy of the body in one vector, on any target. Loads and stores are the mapping's.
std::int64_t estimate_instructions(const Body&);
/// Its share of that.
std::int64_t estimate_instruction(const Body&, const BodyInstruction&);

}  // namespace millrace
