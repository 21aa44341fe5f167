// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// Scratch of a radix sort. Elements go from one half to the other in turn.
struct RadixScratch {
  std::array<SequenceOperand, 2> values;   // the elements themselves
  std::array<SequenceOperand, 2> indices;  // of them in their row; where they are wanted
  SequenceOperand counts;                  // by row, digit and block: elements; then where the first of them goes
  SequenceOperand totals;                  // by row and digit: elements
};

/// One digit of 8 bits of every key; the lowest is number 0.
struct RadixPass {
  unsigned number = 0;
  bool is_last = false;
  std::uint32_t subgroup_size = 0;
};

/// What counts a row's elements: i32 where that can.
DType radix_count_dtype(const SortDescriptor&);
/// Of a row, each the share of one workgroup.
SizeExpr num_radix_blocks(const SortDescriptor&);
/// counts of one row and block, and totals of one row, have one element a digit.
inline constexpr std::int64_t kRadixDigits = 256;

struct RadixKernel {
  MachineKernel kernel;
  std::vector<SequenceOperand> buffers;
};

// The three kernels of a pass, in their order.

/// Counts the elements of each digit in each block.
RadixKernel build_radix_count(const SortDescriptor&, const RadixPass&, const RadixScratch&);
/// Sums up a digit's counts over the blocks of a row.
RadixKernel build_radix_scan(const SortDescriptor&, const RadixPass&, const RadixScratch&);
/// Moves each element to its place, those of one digit in their order.
RadixKernel build_radix_scatter(const SortDescriptor&, const RadixPass&, const RadixScratch&);

}  // namespace millrace
