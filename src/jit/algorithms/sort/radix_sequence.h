// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/sort/radix_pass.h"

namespace millrace {

/// Assembles the kernels and the scratch of a radix sort or selection.
class RadixSequence {
 public:
  /// `num_counts` is the maximum number of counts in a pass.
  RadixSequence(const SortDescriptor& sort, const SizeExpr& num_counts, const Target& target,
                const LowerOptions& options);

  /// Adds the scratch that only a selection needs.
  void add_threshold();
  /// Adds scratch for all elements of `sort`.
  RadixElements add_elements(const SortDescriptor& sort);

  Status append(BuildRadixKernel* build, const SortDescriptor& sort, RadixPass pass);
  /// Appends the three kernels of a pass that moves elements.
  Status append_move(const SortDescriptor& sort, const RadixPass& pass);
  /// Appends one pass per digit, the lowest first. Together the passes sort the elements of `from`, or of the input if
  /// `from` is absent, into the results.
  Status append_sort(const SortDescriptor& sort, const std::optional<RadixElements>& from);

  KernelSequence finish() { return std::move(sequence_); }

 private:
  SequenceOperand add(std::string name, const SizeExpr& num_elements, DType dtype);

  const Target& target_;
  const LowerOptions& options_;
  DType key_;
  SizeExpr rows_;
  RadixScratch scratch_;
  unsigned num_elements_added_ = 0;
  KernelSequence sequence_;
};

/// The number of counts: one per row, digit and block.
SizeExpr num_radix_counts(const SortDescriptor& sort, std::int64_t num_digits);

}  // namespace millrace
