// SPDX-License-Identifier: Apache-2.0
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/loop/cut_map.h"
#include "jit/map/code_estimate.h"

namespace millrace {

/// The nest is one kernel. But a map with a long body is several: the bodies of an application's own kernels have any
/// length, while those of ops are fused only as far as one kernel takes them.
Result<KernelSequence> lower_loop_direct(const KernelRequest& request, const Target& target,
                                         const LowerOptions& options) {
  const LoopKernel& kernel = std::get<LoopKernel>(request);
  MILLRACE_TRY(verify(kernel));
  KernelSequence sequence;
  if (kernel.reductions.empty() && estimate_instructions(kernel.epilogue) > kMaxMapInstructions) {
    CutMap cut = cut_map(kernel, kMaxMapInstructions);
    sequence.scratch = std::move(cut.scratch);
    for (CutMap::Piece& piece : cut.pieces) {
      MILLRACE_TRY(append_kernel(sequence, piece.kernel, std::move(piece.buffers), target, options));
    }
    return sequence;
  }
  MILLRACE_TRY(append_kernel(sequence, kernel, operands_then_results(kernel.operands.size(), kernel.results.size()),
                             target, options));
  return sequence;
}

}  // namespace millrace
