// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/reference/ranges.h"

namespace millrace::reference {

// One function per family; evaluate_ranges() chooses by op. None is called when all operands are known and the op is
// exact.
Range elementwise_range(const RangeCase&);
/// Sums, means and products of floats, and everything of integers that wraps.
Range accumulated_range(const RangeCase&);
Range arg_range(const RangeCase&);
/// Values, indices.
std::vector<Range> order_range(const RangeCase&);

void open(Range& range, std::int64_t i);
/// Orders the ends of bounded elements; opens those with an end that is not finite.
void settle(Range& range);
/// Each operand with every element at its low, or at its high.
std::vector<Tensor> lows(std::span<const Range* const> operands);
std::vector<Tensor> highs(std::span<const Range* const> operands);

}  // namespace millrace::reference
