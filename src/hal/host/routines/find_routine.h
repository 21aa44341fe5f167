// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/status.h"
#include "millrace/hal/executable.h"

namespace millrace {

/// The compiled C++ around an image's microkernel, by the name and the ABI version that the image states. Fails with
/// kNotFound if this build has another version or no such routine.
Result<HostRoutine> find_routine(const RoutineCall&);

}  // namespace millrace
