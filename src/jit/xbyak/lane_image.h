// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "hal/host/routines/routine.h"
#include "jit/lanes/microkernel_code.h"
#include "jit/xbyak/emit_lanes.h"
#include "millrace/base/status.h"
#include "millrace/hal/executable.h"

namespace millrace {

/// Emits a function at an aligned position, which it returns.
std::int64_t append_lanes(LaneAssembler&, const LaneFunction&);
template <class Function>
Microkernel<Function> append_microkernel(LaneAssembler& assembler, const MicrokernelCode<Function>& code) {
  return {append_lanes(assembler, code)};
}

/// The image with the functions that `emit` appends, for the routine whose call it returns.
Result<ExecutableImage> emit_lane_image(const std::function<RoutineCall(LaneAssembler&)>& emit);

}  // namespace millrace
