// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/arg_rows.h"
#include "jit/lanes/microkernel_sink.h"
#include "millrace/base/dtype.h"

namespace millrace {

/// An argmax, or an argmin if `smallest`, of contiguous elements, or of each of `num_columns` rows that interleave. It
/// finds the first of equal elements. -0 equals +0, and a NaN wins over any number.
struct ArgLanes {
  DType dtype = DType::kF32;
  bool smallest = false;
  std::int64_t num_columns = 1;
};

/// Appends the microkernels that search a row, and sets the maximum number of elements per call.
void append_arg(ArgRowsParameters&, const MicrokernelSink&, const ArgLanes&);

}  // namespace millrace
