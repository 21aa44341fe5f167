// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// The rows of an input and of a result, as size expressions: what RowPairSizes says of a run.
struct RowPair {
  struct Dim {
    SizeExpr extent, input_stride, result_stride;
  };
  SizeExpr n, input_offset, result_offset;
  std::vector<Dim> dims;  // the others, outermost first
  SizeExpr parts = 1;     // per row

  SizeExpr num_groups() const;
  std::vector<SizeExpr> sizes() const;
};

/// A plan of a routine that takes one row, or one part of a row, per group. Refuses more rows than a launch has groups.
/// The caller adds the key text and what is emitted.
Result<PlannedKernel> plan_rows(const std::string& name, const RowPair&);

}  // namespace millrace
