// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/algorithm.h"

namespace millrace {

/// Checks that the request's load, if it has one, is a map whose result is the request's input.
Status check_load(const KernelRequest&);
/// The load that computes the input of a sort or scan; null if the request has none.
const LoopKernel* load_of(const KernelRequest&);
/// The same request with its input in memory instead of computed by a load.
KernelRequest without_load(KernelRequest);

/// Adds the load to a sequence that was lowered without it: one kernel stores the load's result to scratch, and the
/// other kernels read that scratch as their input. For algorithms with `reads_loads` false.
Result<KernelSequence> with_stored_load(const LoopKernel& load, KernelSequence, const Target&, const LowerOptions&);

}  // namespace millrace
