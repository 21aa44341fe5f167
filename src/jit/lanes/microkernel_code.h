// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/microkernel.h"
#include "jit/lanes/lane_function.h"

namespace millrace {

/// The lanes of a microkernel.
template <class Function>
struct MicrokernelCode : LaneFunction {};

}  // namespace millrace
