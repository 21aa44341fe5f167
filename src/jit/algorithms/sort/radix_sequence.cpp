// SPDX-License-Identifier: Apache-2.0
// Assembles the kernels and the scratch of a GPU radix sort or radix selection, pass by pass.
#include "jit/algorithms/sort/radix_sequence.h"

#include <array>

#include <fmt/format.h>

#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort/key.h"

namespace millrace {

SizeExpr num_radix_counts(const SortDescriptor& sort, std::int64_t num_digits) {
  return num_rows(sort.input.type.shape, sort.axis) * num_radix_blocks(sort) * num_digits;
}

RadixSequence::RadixSequence(const SortDescriptor& sort, const SizeExpr& num_counts, const Target& target,
                             const LowerOptions& options)
    : target_(target),
      options_(options),
      key_(sort_key_dtype(sort.input.type.dtype)),
      rows_(num_rows(sort.input.type.shape, sort.axis)) {
  scratch_.count = radix_count_dtype(sort);
  scratch_.counts = add("counts", num_counts, scratch_.count);
  scratch_.totals = add("totals", rows_ * kRadixDigits, scratch_.count);
}

void RadixSequence::add_threshold() {
  scratch_.thresholds = add("thresholds", rows_, key_);
  scratch_.ranks = add("ranks", rows_ * 2, scratch_.count);
}

RadixElements RadixSequence::add_elements(const SortDescriptor& sort) {
  const SizeExpr num_elements = rows_ * sort.input.type.shape[sort.axis];
  RadixElements elements;
  const unsigned number = num_elements_added_++;
  elements.values = add(fmt::format("values_{}", number), num_elements, sort.input.type.dtype);
  if (sort.indices) elements.indices = add(fmt::format("indices_{}", number), num_elements, scratch_.count);
  return elements;
}

Status RadixSequence::append(BuildRadixKernel* build, const SortDescriptor& sort, RadixPass pass) {
  pass.subgroup_size = target_.spec().subgroup_size();
  RadixKernel built = build(sort, pass, scratch_);
  return append_kernel(sequence_, built.kernel, std::move(built.buffers), target_, options_);
}

Status RadixSequence::append_move(const SortDescriptor& sort, const RadixPass& pass) {
  for (BuildRadixKernel* build : {build_radix_count, build_radix_scan, build_radix_scatter}) {
    MILLRACE_TRY(append(build, sort, pass));
  }
  return {};
}

Status RadixSequence::append_sort(const SortDescriptor& sort, const std::optional<RadixElements>& from) {
  const unsigned num_passes = sort_key_bits(sort.input.type.dtype) / 8;
  std::array<RadixElements, 2> halves;  // the passes move elements from one to the other and back
  if (num_passes > 1) halves[0] = add_elements(sort);
  if (from) halves[1] = *from;
  if (num_passes > 2 && !from) halves[1] = add_elements(sort);
  for (unsigned number = 0; number < num_passes; ++number) {
    RadixPass pass{.number = number};
    if (number > 0 || from) pass.from = halves[(number + 1) % 2];
    if (number + 1 < num_passes) pass.to = halves[number % 2];
    MILLRACE_TRY(append_move(sort, pass));
  }
  return {};
}

SequenceOperand RadixSequence::add(std::string name, const SizeExpr& num_elements, DType dtype) {
  sequence_.scratch.push_back({std::move(name), num_elements * static_cast<std::int64_t>(size_bytes(dtype))});
  return {SequenceOperand::Kind::kScratch, static_cast<std::uint32_t>(sequence_.scratch.size() - 1)};
}

}  // namespace millrace
