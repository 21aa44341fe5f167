// SPDX-License-Identifier: Apache-2.0
// Memory for two copies of a row's records, for the CPU sorts that move records back and forth (merge and radix sort).
#include "jit/algorithms/sort/row_halves.h"

#include <algorithm>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"

namespace millrace {

RowHalves::RowHalves(MachineBuilder& b, const SortDescriptor& sort, bool in_scratch)
    : b_(b), sort_(sort), records_(b, sort) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  b.set_num_groups(num_rows(sort.input.type.shape, sort.axis));
  input_ = b.buffer(sort.input.name, sort.input.type.dtype, BufferAccess::kRead);
  results_.emplace(b, sort);
  n_ = b.size(n);
  memory_ = in_scratch
                ? records_.in_buffer(BufferAccess::kReadWrite)
                : records_.in_workgroup_memory(static_cast<std::uint64_t>(std::max<std::int64_t>(2 * n.constant(), 1)));
  row_ = b.workgroup_id();
  start_ = row_start(b, sort.input, sort.axis, row_);
  base_ = in_scratch ? b.mul(row_, b.size(n * 2)) : b.i64(0);
}

SortRecord RowHalves::make(MachineValue position) {
  const MachineValue loaded = b_.load(input_, row_element(b_, sort_.input, sort_.axis, start_, position));
  return records_.make(loaded, b_.convert(records_.index_dtype(), position));
}

void RowHalves::write_results(MachineValue half) {
  for_each(b_, b_.i64(0), b_.size(sort_.k), b_.i64(1),
           [&](MachineValue i) { results_->write(input_, row_, i, records_.index_of(load(half, i))); });
}

SizeExpr row_halves_bytes(const SortDescriptor& sort) {
  std::int64_t record_bytes = 0;
  for (const std::int64_t bytes : record_form_of(sort).word_bytes()) record_bytes += bytes;
  return sort.input.type.shape[sort.axis] * (2 * record_bytes);
}

bool fits_workgroup(const SizeExpr& bytes, const TargetSpec& spec) {
  return bytes.is_constant() && static_cast<std::uint64_t>(bytes.constant()) <= memory_limits(spec).workgroup_bytes;
}

Result<KernelSequence> lower_row_halves(const SortDescriptor& sort, const MachineKernel& kernel, bool in_scratch,
                                        const Target& target, const LowerOptions& options) {
  KernelSequence sequence;
  std::vector<SequenceOperand> buffers = operands_then_results(1, num_results(sort));
  if (in_scratch) {
    const SizeExpr num_records = num_rows(sort.input.type.shape, sort.axis) * sort.input.type.shape[sort.axis] * 2;
    append_record_scratch(sequence, sort, num_records, buffers);
  }
  MILLRACE_TRY(append_kernel(sequence, kernel, std::move(buffers), target, options));
  return sequence;
}

}  // namespace millrace
