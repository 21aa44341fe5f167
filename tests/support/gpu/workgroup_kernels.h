// SPDX-License-Identifier: Apache-2.0
// Kernels for workgroups of many threads, written like kernels for a GPU.
#pragma once

#include <cstdint>

#include "millrace/jit/machine_builder.h"

namespace millrace::test {

struct WorkgroupShape {
  std::uint32_t num_threads = 256;
  std::uint32_t subgroup_size = 32;
};

/// sums[g] = the sum of x[i] over group g's threads, element i a thread, i < n. A tree in workgroup memory.
/// Buffers: x, sums (i32); size n.
MachineKernel reduction_kernel(const WorkgroupShape&);

/// sums[i] = x[0] + ... + x[i], wrapping, in groups of a thread an element, each group from 0 again; i < n. By scans of
/// subgroups. Buffers: x, sums (u32); size n.
MachineKernel prefix_sum_kernel(const WorkgroupShape&);

/// Sorts the (key, index) pairs of each group's `num_keys` keys, a power of two, ascending. Bitonic, in workgroup
/// memory. Buffers: keys (u32), sorted (u32), indices (i32).
MachineKernel bitonic_sort_kernel(const WorkgroupShape&, std::uint32_t num_keys);

}  // namespace millrace::test
