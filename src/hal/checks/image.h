// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"

// What every driver checks of an image before it loads it.

namespace millrace {

/// Checks that the fields of the image's info agree with each other.
Status check_info(const KernelInfo&);
/// Checks that the image is for the GPU: there are no levels that it would run, too.
Status check_gpu_target(const TargetSpec&, const ExecutableImage&);
/// Checks that the kernel needs no more than the GPU has. Precondition: the target is a GPU.
Status check_gpu_limits(const TargetSpec&, const KernelInfo&);
/// Checks that the image is a linked code object for the GPU, which has what it needs. Precondition: the target is a
/// GPU.
Status check_gpu_code(const TargetSpec&, const ExecutableImage&);
/// Checks that the image has a kernel. Precondition: the format is kInterpreted.
Status check_interpreted(const ExecutableImage&);
Status unknown_format(const ExecutableImage&);

}  // namespace millrace
