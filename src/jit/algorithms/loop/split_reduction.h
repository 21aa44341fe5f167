// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// How a reduction dim is split: part p has the `length` points from p * length on, and the rest has the `rest` points
/// after the last part. `rest` is either the constant 0, or at least 1 for every extent of 1 or more.
struct ReductionParts {
  std::size_t dim = 0;
  std::int64_t parts = 1;
  SizeExpr length = 0;
  SizeExpr rest = 0;
};

/// Nests that together replace a single nest. The first nest reduces each part. The second reduces the rest, if there
/// is one. The last reduces the values that the others stored in scratch. Only the last nest has the epilogue.
struct SplitReduction {
  struct Piece {
    LoopKernel kernel;
    std::vector<SequenceOperand> buffers;
  };
  std::vector<Piece> pieces;
  std::vector<SequenceScratch>
      scratch;  // one per reduction: its values, or the indices of an argmin or argmax, [part, point...]
};

/// Fails with kUnimplemented if the term gathers, or if an argmin or argmax compares padded elements; the message says
/// why. Precondition: the nest has reductions.
Result<SplitReduction> split_reduction(const LoopKernel&, const ReductionParts&);

}  // namespace millrace
