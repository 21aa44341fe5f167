// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "hal/host/routines/microkernel.h"
#include "jit/lanes/lane_function.h"

namespace millrace {

/// The lane function of a microkernel.
template <class Function>
struct MicrokernelCode : LaneFunction {};

/// Collects the microkernels of an image. Each *_microkernels.h has a function that appends a routine's microkernels,
/// and sets the parameters by which the routine finds them. src/hal/host/routines/microkernels.inc says what each one
/// does.
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
