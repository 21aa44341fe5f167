// SPDX-License-Identifier: Apache-2.0
// Finds the first k of long rows by vectors of keys, so that threads can share a row: one kernel finds the first k of
// each part of a row, and another finds the first k of these. The parts depend only on k and the length of the row.
#include <fmt/format.h>

#include "jit/algorithms/row_operation.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/size_margin.h"
#include "jit/algorithms/sort/lane_sort.h"
#include "jit/lanes/sort_memory.h"

namespace millrace {
namespace {

/// The minimum number of elements in a part, per result. Each part finds its own upper limit for keys, and sorts the
/// elements up to that limit. In parts of this length, the sort takes about 2 % of the time of reading.
constexpr std::int64_t kElementsPerResult = 16 << 10;
/// The minimum length of a part. Shorter parts are slower than a whole row: [1, 4M] k 1000 took 2.7 ms in parts of 512
/// Ki elements and 1.7 ms as one row (commit c5fd811e).
constexpr std::int64_t kMinElementsPerPart = 1 << 20;
constexpr std::int64_t kMinParts = 2;

SizeExpr elements_per_part(const SortDescriptor& sort) { return max(sort.k * kElementsPerResult, kMinElementsPerPart); }

/// The results of the parts, in scratch. Each row is contiguous.
struct Candidates {
  KernelTensor values;
  std::optional<KernelTensor> indices;
};

/// Rows of `count` elements, contiguous along the axis.
KernelTensor rows_of(std::string name, DType dtype, Shape shape, std::uint32_t axis, const SizeExpr& count) {
  shape[axis] = count;
  Layout layout{0, std::vector<SizeExpr>(shape.rank(), 1)};
  SizeExpr stride = count;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    if (d == axis) continue;
    layout.strides[d] = stride;
    stride = stride * shape[d];
  }
  return {std::move(name), {dtype, std::move(shape)}, std::move(layout)};
}

Candidates candidates_of(const SortDescriptor& sort, const SizeExpr& parts) {
  const TensorType& type = sort.input.type;
  const SizeExpr count = parts * sort.k;
  Candidates candidates = {rows_of("candidates", type.dtype, type.shape, sort.axis, count), {}};
  if (sort.indices) candidates.indices = rows_of("candidate_indices", DType::kI64, type.shape, sort.axis, count);
  return candidates;
}

}  // namespace

std::vector<RequestCase> lane_topk_parts_cases(const KernelRequest& request, const TargetSpec&) {
  const auto& sort = std::get<SortDescriptor>(request);
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (sort.k == n) return {};
  const SizeExpr is_long =
      margin_of_both(n - elements_per_part(sort) * kMinParts + 1, margin_of_at_most(n, kMaxIndexedByLanes));
  const SizeExpr margin = margin_of_both(is_long, margin_of_at_most(sort.k, kMaxSelected));
  return {sort_case(margin, sort, {.n = kMaxIndexedByLanes, .k = kMaxSelected}, "_long")};
}

Result<KernelSequence> lower_lane_topk_parts(const KernelRequest& request, const Target& target,
                                             const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (!selects_first(sort)) {
    return unimplemented(
        fmt::format("the first {} of {} elements per row, expected at most {} and long contiguous rows",
                    sort.k.to_text(), n.to_text(), kMaxSelected));
  }
  const SizeExpr min_elements = elements_per_part(sort) * kMinParts;
  if (options.force_algorithm.empty() && (n - min_elements).upper_bound() < 0) {
    return unimplemented(
        fmt::format("rows of {} elements, expected at least {} to pay off", n.to_text(), min_elements.to_text()));
  }
  SortDescriptor of_part = sort, merge = sort;
  of_part.name += "_parts";
  of_part.parts = max(floor_div(n, elements_per_part(sort)), 1);
  const Candidates candidates = candidates_of(sort, of_part.parts);
  of_part.values = candidates.values;
  of_part.indices = candidates.indices;
  merge.name += "_merge";
  merge.load.reset();
  merge.input = candidates.values;
  merge.input_indices = candidates.indices;
  using Kind = SequenceOperand::Kind;
  KernelSequence sequence;
  std::vector<SequenceOperand> found;
  for (const std::optional<KernelTensor>& tensor : {of_part.values, of_part.indices}) {
    if (!tensor) continue;
    found.push_back({Kind::kScratch, static_cast<std::uint32_t>(sequence.scratch.size())});
    sequence.scratch.push_back({tensor->name, size_bytes(tensor->type)});
  }
  std::vector<SequenceOperand> of_input = operands_then_results(num_operands(sort), 0), of_results = found;
  of_input.insert(of_input.end(), found.begin(), found.end());
  const std::vector<SequenceOperand> results = operands_then_results(0, num_results(sort));
  of_results.insert(of_results.end(), results.begin(), results.end());
  MILLRACE_TRY(append_kernel(sequence, row_kernel(of_part), std::move(of_input), target, options));
  MILLRACE_TRY(append_lane_sort(sequence, merge, std::move(of_results), target, options));
  return sequence;
}

}  // namespace millrace
