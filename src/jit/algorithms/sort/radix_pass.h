// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// Elements in scratch, row after row.
struct RadixElements {
  SequenceOperand values;   // the elements themselves
  SequenceOperand indices;  // of them in their row; where they are wanted
};

/// What the kernels of a radix sort or selection leave each other.
struct RadixScratch {
  DType count = DType::kI32;   // what counts a row's elements, in all scratch: i32 where that can
  SequenceOperand counts;      // by row, digit and block: elements; then where the first of them goes
  SequenceOperand totals;      // by row and digit: elements
  SequenceOperand thresholds;  // by row: the digits of the k-th key that a selection has found, below them 0
  SequenceOperand ranks;  // by row, of this pass and the last in turn: how many with these digits come before the k-th
};

/// Which elements a pass takes, and what their digit is.
enum class RadixTakes : std::uint8_t {
  kAll,            // all; 8 bits of the key
  kOfPrefix,       // those whose higher digits are the threshold's; 8 bits of the key
  kUpToThreshold,  // those whose key is at most the threshold; 0 where it is less, 1 where it is equal
};

/// One digit of every key.
struct RadixPass {
  unsigned number = 0;  // of the 8 bits; the lowest are number 0
  RadixTakes takes = RadixTakes::kAll;
  std::optional<RadixElements> from = {};  // absent: the input
  std::optional<RadixElements> to = {};    // absent: the results
  std::uint32_t subgroup_size = 0;

  std::string name() const { return takes == RadixTakes::kUpToThreshold ? "chosen" : std::to_string(number); }
};

/// How many values 8 bits have, and a key that is compared with the threshold.
inline constexpr std::int64_t kRadixDigits = 256;
inline constexpr std::int64_t kThresholdDigits = 2;

/// What counts a row's elements.
DType radix_count_dtype(const SortDescriptor&);
/// The blocks of a row, each the share of one workgroup.
SizeExpr num_radix_blocks(const SortDescriptor&);

struct RadixKernel {
  MachineKernel kernel;
  std::vector<SequenceOperand> buffers;
};
using BuildRadixKernel = RadixKernel(const SortDescriptor&, const RadixPass&, const RadixScratch&);

// The three kernels of a pass that moves elements, in their order.

/// Counts the elements of each digit in each block.
BuildRadixKernel build_radix_count;
/// Sums up a digit's counts over the blocks of a row.
BuildRadixKernel build_radix_scan;
/// Moves each element to its place, those of one digit in their order; up to the threshold only the first k.
BuildRadixKernel build_radix_scatter;

// What finds the k-th key of each row: one kernel at the start, then two a digit, from the highest on.

/// No digit is found; the pass's number is that of the highest and one more.
BuildRadixKernel build_select_start;
/// Adds the elements of each digit to the totals.
BuildRadixKernel build_select_count;
/// Finds the digit of the k-th key, and clears the totals.
BuildRadixKernel build_select_digit;

}  // namespace millrace
