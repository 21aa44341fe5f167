// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/executable.h"

// What every driver checks of an image before it loads it.

namespace millrace {

/// Checks that the fields of the image's info agree with each other.
Status check_info(const KernelInfo&);
/// Checks that the image has a kernel. Precondition: the format is kInterpreted.
Status check_interpreted(const ExecutableImage&);
Status unknown_format(const ExecutableImage&);

}  // namespace millrace
