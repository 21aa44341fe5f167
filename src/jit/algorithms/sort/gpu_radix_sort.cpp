// SPDX-License-Identifier: Apache-2.0
// Sorts rows of any size by the digits of their keys, the lowest first: O(n), stable. Each pass moves unchanged
// elements and recomputes their keys, so that no value is looked up in the input again. Requested indices move with the
// elements. Each pass reads the elements twice and writes them once.
// Source: Satish, Harris & Garland, "Designing efficient sorting algorithms for manycore GPUs", IPDPS 2009.
#include "jit/algorithms/sort/radix_sequence.h"

namespace millrace {

Result<KernelSequence> lower_gpu_radix_sort(const KernelRequest& request, const Target& target,
                                            const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  RadixSequence sequence(sort, num_radix_counts(sort, kRadixDigits), target, options);
  MILLRACE_TRY(sequence.append_sort(sort, {}));
  return sequence.finish();
}

}  // namespace millrace
