// SPDX-License-Identifier: Apache-2.0
// Sorts each row by vectors of keys: the generator with lanes takes the whole sort (src/jit/lanes/,
// src/hal/host/routines/sort_rows.h).
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/size_margin.h"
#include "jit/lanes/sort_memory.h"

namespace millrace {

std::vector<RequestCase> lane_sort_cases(const KernelRequest& request, const TargetSpec&) {
  const auto& sort = std::get<SortDescriptor>(request);
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const SizeExpr is_numbered = margin_of_at_most(n, kMostIndexedByLanes);
  std::vector<RequestCase> cases;
  if (!sort.k.is_constant() && sort.k != n) {
    const SizeExpr margin = margin_of_both(is_numbered, margin_of_at_most(sort.k, kMostSelected));
    cases.push_back(sort_case(margin, sort, {.n = kMostIndexedByLanes, .k = kMostSelected}, "_first"));
  }
  if (sort.indices || selects_first(sort)) {
    cases.push_back(sort_case(is_numbered, sort, {.n = kMostIndexedByLanes}, "_lanes"));
  } else {
    cases.push_back({1, request});
  }
  return cases;
}

Result<KernelSequence> lower_lane_sort(const KernelRequest& request, const Target& target,
                                       const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  KernelSequence sequence;
  std::vector<SequenceOperand> buffers = operands_then_results(num_operands(sort), num_results(sort));
  if (!keys_fit_workgroup(sort, target.spec())) {
    buffers.push_back({SequenceOperand::Kind::kScratch, 0});
    sequence.scratch.push_back({"keys", num_rows(sort.input.type.shape, sort.axis) * lane_key_bytes(sort)});
  }
  MILLRACE_TRY(append_kernel(sequence, sort, std::move(buffers), target, options));
  return sequence;
}

}  // namespace millrace
