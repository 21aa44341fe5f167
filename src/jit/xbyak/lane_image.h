// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "hal/host/routines/routine.h"
#include "jit/lanes/microkernel_sink.h"
#include "millrace/base/status.h"
#include "millrace/hal/executable.h"

namespace millrace {

/// The maximum size of an image's code.
inline constexpr std::size_t kMaxImageBytes = 128 << 10;
/// Makes the image of a routine from the code that `emit` writes. `emit` sets `num_bytes` to the size of the code, and
/// returns the call. Fails with `if_too_long` if there is no room, and with kInternal if xbyak cannot encode the code.
Result<ExecutableImage> emit_image(const std::function<RoutineCall(std::span<std::byte>, std::size_t& num_bytes)>& emit,
                                   const Status& if_too_long);

/// Makes an image for a routine. `append` appends the microkernels, and returns the call of the routine.
Result<ExecutableImage> emit_lane_image(IsaLevel, const std::function<RoutineCall(const MicrokernelSink&)>& append);

}  // namespace millrace
