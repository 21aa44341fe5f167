// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "hal/host/routines/microkernel.h"
#include "jit/lanes/lane_function.h"

namespace millrace {

/// The lanes of a microkernel.
template <class Function>
struct MicrokernelCode : LaneFunction {};

/// Takes the microkernels of an image. Each *_microkernels.h has a function that appends those of a routine, and sets
/// the parameters by which the routine finds them. What each of them does: src/hal/host/routines/microkernels.inc.
struct MicrokernelSink {
  IsaLevel isa;
  /// Emits a function, and returns its offset from the image's entry.
  std::function<std::int64_t(const LaneFunction&)> emit;

  template <class Function>
  Microkernel<Function> append(const MicrokernelCode<Function>& code) const {
    return {emit(code)};
  }
};

}  // namespace millrace
