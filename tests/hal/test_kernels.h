// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"

// Kernels that need no code generator: C++ behind HostKernel, and x86-64 machine code written out, in the baseline
// instruction set, so that every cpu device runs it. For targets that run no machine code of the host they are C++ too.

namespace millrace {

/// A HostKernel from a function, for every cpu device or another target. It has nothing to tell an observer.
using HostKernelBody = std::function<Status(const KernelArgs&, std::uint32_t first_group, std::uint32_t end_group)>;
ExecutableImage host_kernel_image(KernelInfo info, HostKernelBody body);
ExecutableImage host_kernel_image(const TargetSpec& target, KernelInfo info, HostKernelBody body);

/// An image of cpu:baseline code with its entry at offset 0.
ExecutableImage code_image(KernelInfo info, std::initializer_list<int> bytes);

/// buffers[0][g] = g for each group g; u32.
ExecutableImage store_ids_image(const TargetSpec& target = {});
/// buffers[1][g] = buffers[0][g] * sizes[0] for each group g; u32.
ExecutableImage scale_image(const TargetSpec& target = {});
/// buffers[0][0] = 0x600dcafe, a constant that stands in a page after the code.
ExecutableImage load_constant_image();
/// Sets KernelError::kIndexOutOfRange.
ExecutableImage fail_index_image(const TargetSpec& target = {});
/// buffers[0][0] = the address of its workgroup memory, whose first and last byte it writes; sizes[0] is its size in
/// bytes.
ExecutableImage workgroup_address_image(std::uint64_t workgroup_bytes, const TargetSpec& target = {});
/// buffers[0][g] = a * g + 1 for each of the groups, by a microkernel that the routine gemm_f32 calls with `a` as the
/// steps of k.
ExecutableImage routine_image(std::int64_t a, std::int64_t num_groups);

}  // namespace millrace
