// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// How a reduction dim is cut: part p has its points p * length, ..., up to `length` of them. Every part has a point,
/// unless the dim has none.
struct ReductionParts {
  std::size_t dim = 0;
  SizeExpr parts = 1;
  SizeExpr length = 0;
};

/// Two nests with the meaning of one. The first reduces each part, the second what the first has written to scratch;
/// only the second has the epilogue.
struct SplitReduction {
  struct Piece {
    LoopKernel kernel;
    std::vector<SequenceOperand> buffers;
  };
  Piece parts, join;
  std::vector<SequenceScratch> scratch;  // one per reduction: its values, or the indices of an argmax, [part, point...]
};

/// Fails with kUnimplemented, saying why, if the term gathers, or if an argmax compares padded elements. Precondition:
/// the nest has reductions.
Result<SplitReduction> split_reduction(const LoopKernel&, const ReductionParts&);

}  // namespace millrace
