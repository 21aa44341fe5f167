// SPDX-License-Identifier: Apache-2.0
// Sorts of any size by the digits of their keys, the lowest first: O(n), stable. Elements move as they are, and
// their keys are computed anew in each pass, so that no value is looked up again; indices move beside them where they
// are wanted. Each pass reads the elements twice and writes them once.
// Source: Satish, Harris & Garland, "Designing efficient sorting algorithms for manycore GPUs", IPDPS 2009.
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/radix_pass.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort_key.h"

namespace millrace {
namespace {

RadixScratch add_scratch(KernelSequence& sequence, const SortDescriptor& sort, unsigned num_passes) {
  const auto add = [&](std::string name, const SizeExpr& num_elements, DType dtype) {
    sequence.scratch.push_back({std::move(name), num_elements * static_cast<std::int64_t>(size_bytes(dtype))});
    return SequenceOperand{SequenceOperand::Kind::kScratch, static_cast<std::uint32_t>(sequence.scratch.size() - 1)};
  };
  const SizeExpr rows = num_rows(sort.input.type.shape, sort.axis);
  const SizeExpr elements = rows * sort.input.type.shape[sort.axis];
  const DType count = radix_count_dtype(sort);
  RadixScratch scratch;
  scratch.counts = add("counts", rows * num_radix_blocks(sort) * kRadixDigits, count);
  scratch.totals = add("totals", rows * kRadixDigits, count);
  for (std::size_t half = 0; half < 2 && half + 1 < num_passes; ++half) {
    scratch.values[half] = add("values", elements, sort.input.type.dtype);
    if (sort.indices) scratch.indices[half] = add("indices", elements, count);
  }
  return scratch;
}

}  // namespace

Result<KernelSequence> lower_gpu_radix_sort(const KernelRequest& request, const Target& target,
                                            const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const unsigned num_passes = sort_key_bits(sort.input.type.dtype) / 8;
  KernelSequence sequence;
  const RadixScratch scratch = add_scratch(sequence, sort, num_passes);
  for (unsigned number = 0; number < num_passes; ++number) {
    const RadixPass pass{
        .number = number, .is_last = number + 1 == num_passes, .subgroup_size = target.spec().subgroup_size()};
    for (const auto build : {build_radix_count, build_radix_scan, build_radix_scatter}) {
      RadixKernel built = build(sort, pass, scratch);
      MILLRACE_TRY(append_kernel(sequence, built.kernel, std::move(built.buffers), target, options));
    }
  }
  return sequence;
}

}  // namespace millrace
