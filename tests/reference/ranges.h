// SPDX-License-Identifier: Apache-2.0
// The oracle where it cannot know every bit: sums differ with their order, and so do values that depend on them.
// Interval arithmetic on the oracle itself, op by op.
#pragma once

#include <span>
#include <vector>

#include "tests/reference/evaluate.h"

namespace millrace::reference {

/// What the elements of a value may be. An element is
/// * known: low and high are the same bits, or both NaN;
/// * bounded: any number from low to high, never NaN; both are finite;
/// * open: anything. For integers, low and high are then the lowest and the highest number; for floats, only high is
///   NaN.
struct Range {
  Tensor low, high;

  bool is_known(std::int64_t i) const;
  bool is_open(std::int64_t i) const;
  bool all_known() const;
};

/// A value whose every bit is known.
Range known(const Tensor&);

/// The ranges of an op's results. `max_ulp` is how far an implementation of an elementwise op may be from `evaluate`;
/// `shown`, where not empty, is a result that an implementation gave of the operands' lows: where the operands are
/// known, that result is known, because the implementation gives equal bits for equal operands. An unsorted topk may
/// give each of its rows' elements at each place. Precondition: as evaluate, whatever the operands are in their ranges.
struct RangeCase {
  Op op{};
  const Attributes& attributes;
  std::span<const Range* const> operands;  // two of one value are one pointer
  double max_ulp = 0;
  std::span<const Tensor> shown = {};
};
std::vector<Range> evaluate_ranges(const RangeCase&);

}  // namespace millrace::reference
