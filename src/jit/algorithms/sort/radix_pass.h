// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// Elements in scratch, row after row.
struct RadixElements {
  SequenceOperand values;   // the elements themselves
  SequenceOperand indices;  // their indices in their rows, if requested
};

/// Scratch that passes values between the kernels of a radix sort or selection.
struct RadixScratch {
  DType count = DType::kI32;   // the dtype of all counts: i32 if it can count a row's elements, else i64
  SequenceOperand counts;      // by row, digit and block: counts; after the scan, sums over previous blocks
  SequenceOperand totals;      // by row and digit: counts over all blocks
  SequenceOperand thresholds;  // by row: the digits of the k-th key found so far; lower digits are 0
  SequenceOperand ranks;       // by row and parity of the pass: rank of the k-th key among keys with its known digits
};

/// The elements that a pass selects, and the digit by which it sorts them.
enum class RadixFilter : std::uint8_t {
  kAll,            // all elements; the digit is 8 bits of the key
  kPrefix,         // elements whose higher digits equal the threshold's; the digit is 8 bits of the key
  kUpToThreshold,  // elements whose key is at most the threshold; the digit is 0 if less, 1 if equal
};

/// A pass over one digit of every key.
struct RadixPass {
  unsigned number = 0;  // index of the 8-bit digit; the lowest is 0
  RadixFilter filter = RadixFilter::kAll;
  std::optional<RadixElements> from = {};  // absent: the input
  std::optional<RadixElements> to = {};    // absent: the results
  std::uint32_t subgroup_size = 0;

  std::string name() const { return filter == RadixFilter::kUpToThreshold ? "chosen" : std::to_string(number); }
};

/// The number of values of an 8-bit digit, and of the digit of kUpToThreshold.
inline constexpr std::int64_t kRadixDigits = 256;
inline constexpr std::int64_t kThresholdDigits = 2;

/// The dtype that counts a row's elements.
DType radix_count_dtype(const SortDescriptor&);
/// The number of blocks per row. One workgroup processes each block.
SizeExpr num_radix_blocks(const SortDescriptor&);

struct RadixKernel {
  MachineKernel kernel;
  std::vector<SequenceOperand> buffers;
};
using BuildRadixKernel = RadixKernel(const SortDescriptor&, const RadixPass&, const RadixScratch&);

// The three kernels of a pass that moves elements, in order.

/// Counts the elements of each digit in each block.
BuildRadixKernel build_radix_count;
/// Scans each digit's counts over the blocks of a row, and stores their sum as the digit's total.
BuildRadixKernel build_radix_scan;
/// Moves each element to its place, keeping the order of elements with equal digits. With a threshold, moves only the
/// first k.
BuildRadixKernel build_radix_scatter;

// The kernels that find the k-th key of each row: one at the start, then two per digit, from the highest.

/// Initialises the search. RadixPass::number must be one more than the number of the highest digit.
BuildRadixKernel build_select_start;
/// Adds the counts of each digit to the totals.
BuildRadixKernel build_select_count;
/// Finds the digit of the k-th key, and clears the totals.
BuildRadixKernel build_select_digit;

}  // namespace millrace
