// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/arg_rows.h"
#include "jit/lanes/microkernel_sink.h"
#include "millrace/base/dtype.h"

namespace millrace {

/// An argmax, or an argmin if `smallest`, of contiguous elements: the first of equals, where -0 equals +0; NaN is found
/// before any number.
struct ArgLanes {
  DType dtype = DType::kF32;
  bool smallest = false;
};

/// Appends what finds in a row, and sets how much of it that takes.
void append_arg(ArgRowsParameters&, const MicrokernelSink&, const ArgLanes&);

}  // namespace millrace
