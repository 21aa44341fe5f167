// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Merges groups of 16 or more kernels of a program that differ only in numbers (offsets, extents, constants in their
/// bodies) into one kernel: the differing numbers become size arguments, which each launch passes. Kernels in smaller
/// groups keep their numbers as constants: such code is never slower, and generating it takes only 2 to 5 ms per kernel
/// (bench/many_nodes_bench). Divisors and shift counts, which select instructions, stay constants unless they occur in
/// more than 64 combinations. Results are bit-identical. Skips kernels whose generator emits no code or does not plan
/// from a MachineKernel. O(instructions * log(kernels)).
void share_kernels(std::span<PlannedKernel* const> kernels, const Target&);

}  // namespace millrace
