// SPDX-License-Identifier: Apache-2.0
#include "jit/algorithms/algorithm.h"

namespace millrace {

/// The nest is one kernel.
Result<KernelSequence> lower_loop_direct(const KernelRequest& request, const Target& target,
                                         const LowerOptions& options) {
  const LoopKernel& kernel = std::get<LoopKernel>(request);
  MILLRACE_TRY(verify(kernel));
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, kernel, operands_then_results(kernel.operands.size(), kernel.results.size()),
                             target, options));
  return sequence;
}

}  // namespace millrace
