// SPDX-License-Identifier: Apache-2.0
// Cuts an argmin or argmax of long contiguous rows into parts, so that threads can share a row: one kernel finds the
// best element of each part of a row, and another finds the best of these. The parts depend on nothing but the length
// of the row.
#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/row_operation.h"
#include "jit/algorithms/size_margin.h"
#include "jit/lanes/match_arg.h"

namespace millrace {
namespace {

/// The minimum number of elements in a part, and in a row that is cut into parts. Rows that interleave in memory are
/// read together, and count as one row.
constexpr std::int64_t kPartElements = 256 << 10, kMinElements = 4 * kPartElements;

SizeExpr elements_read_as_one(const LoopKernel& kernel) {
  const Result<ArgDescriptor> arg = match_arg(kernel);
  return kernel.domain.back().extent * (arg.ok() ? num_columns(*arg) : 1);
}

}  // namespace

std::vector<RequestCase> lane_arg_parts_cases(const KernelRequest& request, const TargetSpec&) {
  LoopKernel kernel = std::get<LoopKernel>(request);
  if (!finds_index(kernel)) return {};
  const SizeExpr margin = margin_of_at_least(elements_read_as_one(kernel), kMinElements);
  if (!always_holds(margin)) kernel.name += "_long";
  return {{margin, std::move(kernel)}};
}

Result<KernelSequence> lower_lane_arg_parts(const KernelRequest& request, const Target& target,
                                            const LowerOptions& options) {
  const auto& kernel = std::get<LoopKernel>(request);
  if (!finds_index(kernel)) return unimplemented("no argmin or argmax");
  const SizeExpr n = elements_read_as_one(kernel);
  if (options.force_algorithm.empty() && n.upper_bound() < kMinElements) {
    return unimplemented(
        fmt::format("rows of {} elements, expected at least {} to pay off", n.to_text(), kMinElements));
  }
  MILLRACE_TRY_ASSIGN(const ArgDescriptor arg, match_arg(kernel));
  ArgDescriptor of_part = arg, merge = arg;
  of_part.name += "_parts";
  of_part.parts = max(floor_div(n, kPartElements), 1);
  const auto row_major = [&](std::string name, DType dtype) {
    Shape shape = arg.input.type.shape;
    shape[shape.rank() - 1] = of_part.parts;
    return KernelTensor{std::move(name), {dtype, shape}, Layout::row_major(shape)};
  };
  of_part.indices = row_major("part_indices", DType::kI64);
  of_part.values = row_major("part_values", arg.input.type.dtype);
  merge.name += "_merge";
  merge.input = *of_part.values;
  merge.input_indices = of_part.indices;
  using Kind = SequenceOperand::Kind;
  const SequenceOperand input{Kind::kOperand, 0}, result{Kind::kResult, 0};
  const SequenceOperand indices{Kind::kScratch, 0}, values{Kind::kScratch, 1};
  KernelSequence sequence;
  for (const KernelTensor& tensor : {of_part.indices, *of_part.values}) {
    sequence.scratch.push_back({tensor.name, size_bytes(tensor.type)});
  }
  MILLRACE_TRY(append_kernel(sequence, row_kernel(of_part), {input, indices, values}, target, options));
  MILLRACE_TRY(append_kernel(sequence, row_kernel(merge), {values, indices, result}, target, options));
  return sequence;
}

}  // namespace millrace
