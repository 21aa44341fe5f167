// SPDX-License-Identifier: Apache-2.0
// Sorts each row by vectors of keys. The whole sort becomes one kernel, for which xbyak emits lane functions
// (src/jit/lanes/, src/hal/host/routines/sort/sort_rows.h).
#include "jit/algorithms/sort/lane_sort.h"

#include "jit/algorithms/row_operation.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/size_margin.h"
#include "jit/lanes/sort_memory.h"

namespace millrace {

SizeExpr margin_of_selected(const SortDescriptor& sort) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  return margin_of_both(margin_of_at_most(n, longest_selected(sort)), max_selected(sort) + 1 - sort.k);
}

std::vector<RequestCase> lane_sort_cases(const KernelRequest& request, const TargetSpec&) {
  const auto& sort = std::get<SortDescriptor>(request);
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const SizeExpr is_numbered = margin_of_at_most(n, kMaxIndexedByLanes);
  std::vector<RequestCase> cases;
  const std::int64_t longest = longest_selected(sort);
  const bool is_limited = longest < kMaxIndexedByLanes && n.upper_bound() > longest;
  if (sort.k != n && (!sort.k.is_constant() || is_limited)) {
    const std::int64_t max_k = max_selected(sort).upper_bound();
    cases.push_back(sort_case(margin_of_selected(sort), sort, {.n = longest, .k = max_k}, "_first"));
  }
  if (leaves_to_heap(sort)) {
    std::erase_if(cases, [](const RequestCase& one) { return never_holds(one.margin); });
    return cases;
  }
  const bool can_be_short = sort.indices.has_value() && size_bytes(sort.input.type.dtype) <= 2;
  if (can_be_short && !selects_first(sort) && n.upper_bound() > LaneKeys::kMaxShortIndices) {
    const SizeExpr is_short = margin_of_at_most(n, LaneKeys::kMaxShortIndices);
    cases.push_back(sort_case(is_short, sort, {.n = LaneKeys::kMaxShortIndices}, "_short"));
  }
  if (sort.indices || selects_first(sort)) {
    cases.push_back(sort_case(is_numbered, sort, {.n = kMaxIndexedByLanes}, "_lanes"));
  } else {
    cases.push_back({1, request});
  }
  return cases;
}

Status append_lane_sort(KernelSequence& sequence, const SortDescriptor& sort, std::vector<SequenceOperand> buffers,
                        const Target& target, const LowerOptions& options) {
  if (!keys_fit_workgroup(sort, target.spec())) {
    buffers.push_back({SequenceOperand::Kind::kScratch, static_cast<std::uint32_t>(sequence.scratch.size())});
    sequence.scratch.push_back({"keys", num_rows(sort.input.type.shape, sort.axis) * lane_key_bytes(sort)});
  }
  return append_kernel(sequence, row_kernel(sort), std::move(buffers), target, options);
}

Result<KernelSequence> lower_lane_sort(const KernelRequest& request, const Target& target,
                                       const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort_of_parts(sort));
  KernelSequence sequence;
  MILLRACE_TRY(
      append_lane_sort(sequence, sort, operands_then_results(num_operands(sort), num_results(sort)), target, options));
  return sequence;
}

}  // namespace millrace
