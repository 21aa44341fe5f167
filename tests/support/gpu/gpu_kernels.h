// SPDX-License-Identifier: Apache-2.0
// Small kernels of several threads, written by hand, that together use every instruction of workgroups.
#pragma once

#include <cstdint>
#include <span>

#include "millrace/jit/machine_builder.h"

namespace millrace::test {

/// y[i] = a[0] * x[i] + y[i] for i < n, a thread an element. Buffers: a, x, y; size: n.
MachineKernel axpy_kernel(DType, std::uint32_t subgroup_size);

/// y[row] = sum of x[row, 0 .. n), a workgroup of 256 a row: registers, then shuffles, then workgroup memory.
/// Buffers: x, y; sizes: n, rows.
MachineKernel row_sum_kernel(DType, std::uint32_t subgroup_size);

/// Sorts 1024 (key, index) pairs of each workgroup ascending, equal keys by index: a bitonic network in workgroup
/// memory, 512 threads. Buffers: keys, indices (i32), both in place; size: rows.
MachineKernel bitonic_sort_kernel(DType, std::uint32_t subgroup_size);

/// y[i] = sum of x[0 .. i] within each workgroup's 256 elements: a scan of each subgroup, then of their totals.
/// Buffers: x, y; size: groups.
MachineKernel block_scan_kernel(DType, std::uint32_t subgroup_size);

/// counts[x[i] & 255] += 1 for i < n, in workgroup memory first; one thread of a subgroup counts its threads that are
/// at work, in active[0]. Buffers: x, counts, active (u64); size: n.
MachineKernel histogram_kernel(DType, std::uint32_t subgroup_size);

struct GpuTestKernel {
  const char* name;
  MachineKernel (*build)(DType, std::uint32_t subgroup_size);
  std::span<const DType> dtypes;  // which it takes
};
std::span<const GpuTestKernel> gpu_test_kernels();

}  // namespace millrace::test
