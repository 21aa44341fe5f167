// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// How a reduction dim is split: part p has the `length` points from p * length on, and the rest has the points after
/// the last part. `rest` is either the constant 0 or, for every extent of 1 or more, at least 1.
struct ReductionParts {
  std::size_t dim = 0;
  std::int64_t parts = 1;
  SizeExpr length = 0;
  SizeExpr rest = 0;
};

/// Nests that together replace a single nest. The first nest reduces each part, the second reduces the rest if there is
/// one, and the last reduces the values that the previous nests stored in scratch. Only the last nest has the epilogue.
struct SplitReduction {
  struct Piece {
    LoopKernel kernel;
    std::vector<SequenceOperand> buffers;
  };
  std::vector<Piece> pieces;
  std::vector<SequenceScratch>
      scratch;  // one per reduction: its values, or the indices of an argmin or argmax, [part, point...]
};

/// Fails with kUnimplemented, saying why, if the term gathers, or if an argmin or argmax compares padded elements.
/// Precondition: the nest has reductions.
Result<SplitReduction> split_reduction(const LoopKernel&, const ReductionParts&);

}  // namespace millrace
