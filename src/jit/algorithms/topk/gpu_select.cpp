// SPDX-License-Identifier: Apache-2.0
// Finds the first k of long rows, for k too large for a workgroup. Searches for the k-th key digit by digit, the
// highest first: each pass counts the elements that share the digits found so far. Then it moves the elements before
// the k-th key, and the first of those equal to it, in the order of the row. If the results must be in order, it sorts
// these k elements. Reads the row once per digit and twice more, and writes k elements.
// Source: Alabi, Blanchard, Gordon & Steinbach, "Fast k-selection algorithms for graphics processing units", ACM
// Journal of Experimental Algorithmics 17, 2012.
#include <fmt/format.h>

#include "jit/algorithms/sort/key.h"
#include "jit/algorithms/sort/radix_sequence.h"

namespace millrace {
namespace {

constexpr std::int64_t kMinElementsPerResult = 4;  // row length / k; above this, selecting before sorting is faster

/// Refuses if sorting all elements moves fewer bytes.
Status check_worth(const SortDescriptor& sort, unsigned num_digits) {
  if (num_digits == 1) return unimplemented("keys have 8 bits, expected more; one pass of a sort is enough");
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const std::int64_t max_k = n.upper_bound() / kMinElementsPerResult;
  if (sort.k.upper_bound() <= max_k) return {};
  return unimplemented(fmt::format("the first {} of {} elements per row, expected at most a quarter of them to pay off",
                                   sort.k.to_text(), n.to_text()));
}

/// A sort of the k chosen elements of each row.
SortDescriptor sort_of_chosen(SortDescriptor sort) {
  sort.input.type.shape[sort.axis] = sort.k;
  return sort;
}

Status append_search(RadixSequence& sequence, const SortDescriptor& sort, unsigned num_digits) {
  sequence.add_threshold();
  MILLRACE_TRY(sequence.append(build_select_start, sort, {.number = num_digits}));
  for (unsigned number = num_digits; number-- > 0;) {
    const bool is_highest = number + 1 == num_digits;
    const RadixPass pass{.number = number, .filter = is_highest ? RadixFilter::kAll : RadixFilter::kPrefix};
    MILLRACE_TRY(sequence.append(build_select_count, sort, pass));
    MILLRACE_TRY(sequence.append(build_select_digit, sort, pass));
  }
  return {};
}

}  // namespace

Result<KernelSequence> lower_gpu_topk_select(const KernelRequest& request, const Target& target,
                                             const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const unsigned num_digits = sort_key_bits(sort.input.type.dtype) / 8;
  if (options.force_algorithm.empty()) MILLRACE_TRY(check_worth(sort, num_digits));
  const SortDescriptor of_chosen = sort_of_chosen(sort);
  SizeExpr num_counts = num_radix_counts(sort, kThresholdDigits);
  if (sort.sorted) num_counts = max(num_counts, num_radix_counts(of_chosen, kRadixDigits));
  RadixSequence sequence(sort, num_counts, target, options);
  MILLRACE_TRY(append_search(sequence, sort, num_digits));
  RadixPass choose{.filter = RadixFilter::kUpToThreshold};
  if (sort.sorted) choose.to = sequence.add_elements(of_chosen);
  MILLRACE_TRY(sequence.append_move(sort, choose));
  if (sort.sorted) MILLRACE_TRY(sequence.append_sort(of_chosen, choose.to));
  return sequence.finish();
}

}  // namespace millrace
