// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// The maps that replace one map. They run in order, each over the whole domain of that map. Scratch memory passes
/// values from one map to later maps.
struct SplitMap {
  struct Piece {
    LoopKernel kernel;
    std::vector<SequenceOperand> buffers;
  };
  std::vector<Piece> pieces;
  std::vector<SequenceScratch> scratch;
};

/// Splits the body of a map at points where few values are live, so that estimate_instructions() of each piece is at
/// most `max_instructions`, including the stores and loads of values that pass between pieces. (A single instruction
/// that costs more becomes a piece.) Results are bit-identical. Precondition: no reductions. O(instructions).
SplitMap split_map(const LoopKernel& map, std::int64_t max_instructions);

}  // namespace millrace
