// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/executable.h"

// What every driver checks of an image before it loads it.

namespace millrace {

/// That the image's info agrees with itself.
Status check_info(const KernelInfo&);
/// That an image of this format has a kernel. Precondition: the format is kInterpreted.
Status check_interpreted(const ExecutableImage&);
Status unknown_format(const ExecutableImage&);

}  // namespace millrace
