// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/hal/target_spec.h"
#include "millrace/jit/body.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// Whether the target has an instruction for a masked load or store of this dtype. If not, each lane needs a branch.
bool has_masked_access(const TargetSpec&, DType);

/// The limit for `estimate_instructions` of a CPU kernel. LLVM takes 30 to 45 us per instruction
/// (bench/jit/cliff_bench), so a kernel compiles in less than 100 ms and has about 20 KiB of code.
inline constexpr std::int64_t kMaxKernelInstructions = 1800;

/// An x86 instruction interleaves within this many bytes; a wider interleave takes two or three instructions.
inline constexpr std::size_t kInterleaveBytes = 16;

/// The limit for a map's body. A kernel has two copies of it: one for whole vectors and one for the remainder.
inline constexpr std::int64_t kMaxMapInstructions = kMaxKernelInstructions / 2 - 100;

/// Estimates the number of target instructions. LLVM splits some instructions of kernel IR into one piece per lane.
std::int64_t estimate_instructions(const MachineKernel&, const TargetSpec&);

/// Estimates one copy of the body for one vector on any target, without loads and stores, which depend on the mapping.
std::int64_t estimate_instructions(const Body&);
/// The contribution of one instruction to that estimate.
std::int64_t estimate_instruction(const Body&, const BodyInstruction&);

}  // namespace millrace
