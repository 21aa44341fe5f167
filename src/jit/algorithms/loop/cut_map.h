// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// Maps over one domain, in order. Scratch passes values from one map's body to later maps.
struct CutMap {
  struct Piece {
    LoopKernel kernel;
    std::vector<SequenceOperand> buffers;
  };
  std::vector<Piece> pieces;
  std::vector<SequenceScratch> scratch;
};

/// Cuts a map where few values are needed later, so that estimate_instructions of each piece is at most
/// `max_instructions`, including the stores and loads of the values it passes on. (A piece has at least one
/// instruction, whatever its cost.) Results are bit-identical. Precondition: no reductions. O(instructions).
CutMap cut_map(const LoopKernel& map, std::int64_t max_instructions);

}  // namespace millrace
