// SPDX-License-Identifier: Apache-2.0
// Lowers a loop nest to one kernel. This algorithm for loops is tried last, because it lowers every nest.
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/loop/split_map.h"
#include "jit/map/code_estimate.h"

namespace millrace {

/// Makes one kernel from the nest. A map with a long body becomes several kernels. Only an application's own kernels
/// are that long: fusion stops where ops no longer fit into one kernel. A map in place is not split, because one piece
/// could overwrite elements that another piece reads. Maps in place are short enough anyway, because they come from
/// fusion.
Result<KernelSequence> lower_loop_direct(const KernelRequest& request, const Target& target,
                                         const LowerOptions& options) {
  const LoopKernel& kernel = std::get<LoopKernel>(request);
  KernelSequence sequence;
  if (kernel.terms.empty() && !kernel.in_place && estimate_instructions(kernel.epilogue) > kMaxMapInstructions) {
    SplitMap split = split_map(kernel, kMaxMapInstructions);
    sequence.scratch = std::move(split.scratch);
    for (SplitMap::Piece& piece : split.pieces) {
      MILLRACE_TRY(append_kernel(sequence, piece.kernel, std::move(piece.buffers), target, options));
    }
    return sequence;
  }
  MILLRACE_TRY(append_kernel(sequence, kernel, buffers_of(kernel), target, options));
  return sequence;
}

}  // namespace millrace
