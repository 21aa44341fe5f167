// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// Maps over one domain, in order; what the body of one computes for a later one stands in scratch between them.
struct CutMap {
  struct Piece {
    LoopKernel kernel;
    std::vector<SequenceOperand> buffers;
  };
  std::vector<Piece> pieces;
  std::vector<SequenceScratch> scratch;
};

/// Cuts a map where few values are needed later, so that no piece takes more than `most` of estimate_instructions, its
/// passing on of values included. (A piece has one instruction at least, whatever that takes.) Results are equal bit
/// for bit. Precondition: no reductions. O(instructions).
CutMap cut_map(const LoopKernel& map, std::int64_t most);

}  // namespace millrace
