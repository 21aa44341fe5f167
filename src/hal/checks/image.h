// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"

// The checks that every driver makes before it loads an image.

namespace millrace {

/// Checks that the fields of the image's info are consistent.
Status check_info(const KernelInfo&);
/// Checks that the image is for exactly this GPU: unlike CPUs, GPUs have no levels.
Status check_gpu_target(const TargetSpec&, const ExecutableImage&);
/// Checks the kernel against the GPU's limits. Precondition: the target is a GPU.
Status check_gpu_limits(const TargetSpec&, const KernelInfo&);
/// Checks that the image is a linked code object for the GPU, and that the GPU has the memory and threads that it
/// needs. Precondition: the target is a GPU.
Status check_gpu_code(const TargetSpec&, const ExecutableImage&);
/// Checks that the image has a kernel. Precondition: the format is kInterpreted.
Status check_interpreted(const ExecutableImage&);
Status unknown_format(const ExecutableImage&);

}  // namespace millrace
