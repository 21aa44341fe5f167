// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/jit/machine_kernel.h"

namespace millrace::test {

/// A kernel of random instructions that a generator's code is compared with the interpreter on. It stays in its
/// buffers and slots, and its results are the same everywhere but for which NaN a float is: no NaN's bits are read.
struct RandomMachineKernel {
  MachineKernel kernel;
  std::vector<std::size_t> num_elements;  // of each buffer
  std::vector<std::int64_t> sizes;        // of each size argument
  std::uint32_t num_groups = 1;
};

struct RandomKernelOptions {
  int num_statements = 40;
  /// mul_add of floats rounds once or twice, as the target has FMA.
  bool has_float_mul_add = true;
  /// Atomics, shuffles and ids of threads, which for one thread alone are all that they can be.
  bool has_thread_ops = true;
  std::uint32_t max_lanes = 32;  // of a value: a power of two
  std::uint32_t num_groups = 0;  // 0: one to three
};

/// Over some hundred seeds, every op that a machine kernel may have, on every dtype.
RandomMachineKernel make_random_kernel(std::uint64_t seed, const RandomKernelOptions& options = {});

/// The same work as one workgroup of `num_groups` threads, with all memory except the buffers private: one thread per
/// group. Precondition: made without thread ops.
RandomMachineKernel as_threads(const RandomMachineKernel&);

/// One array a buffer: random elements where the kernel reads, zeros where it only writes.
using KernelData = std::vector<std::vector<std::uint64_t>>;
KernelData make_random_data(const RandomMachineKernel&, std::uint64_t seed);
std::vector<void*> pointers_to(KernelData&);

/// The status word of a run on the interpreter, which leaves the results in `data`.
std::uint32_t run_interpreted(const RandomMachineKernel&, KernelData& data);

}  // namespace millrace::test
