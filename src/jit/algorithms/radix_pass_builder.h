// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/radix_pass.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort_key.h"

namespace millrace {

inline constexpr std::uint32_t kRadixThreads = 256;  // a digit each
inline constexpr std::uint32_t kRadixTurns = 16;
inline constexpr std::uint32_t kRadixBlock = kRadixThreads * kRadixTurns;  // elements of one workgroup

/// What the three kernels have in common: which row and block, and where elements are read.
class RadixPassBuilder {
 public:
  RadixPassBuilder(const SortDescriptor& sort, const RadixPass& pass, const RadixScratch& scratch)
      : sort_(sort),
        pass_(pass),
        scratch_(scratch),
        b_(sort.name),
        n_(sort.input.type.shape[sort.axis]),
        rows_(num_rows(sort.input.type.shape, sort.axis)),
        blocks_(num_radix_blocks(sort)),
        count_(radix_count_dtype(sort)) {
    b_.set_workgroup(kRadixThreads, pass.subgroup_size);
  }

 protected:
  MemoryHandle buffer(std::string name, DType dtype, const SequenceOperand& operand, bool is_read, bool is_written) {
    buffers_.push_back(operand);
    return b_.buffer(std::move(name), dtype, is_read, is_written);
  }
  void read_elements() {
    const DType dtype = sort_.input.type.dtype;
    if (pass_.number == 0) {
      elements_ = buffer(sort_.input.name, dtype, {SequenceOperand::Kind::kOperand, 0}, true, false);
    } else {
      elements_ = buffer("values", dtype, scratch_.values[(pass_.number - 1) % 2], true, false);
    }
  }

  /// A workgroup a block of a row.
  void place_block() {
    const MachineValue group = b_.workgroup_id();
    b_.set_num_groups(rows_ * blocks_);
    row_ = rows_.is(1) ? b_.i64(0) : b_.div(group, b_.size(blocks_));
    block_ = rows_.is(1) ? group : b_.rem(group, b_.size(blocks_));
    first_ = b_.mul(block_, b_.i64(kRadixBlock));
    row_in_scratch_ = b_.mul(row_, b_.size(n_));
    if (pass_.number == 0) row_in_input_ = row_start(b_, sort_.input, sort_.axis, row_);
  }
  /// Of the block's element `i` (i32) in its row: i64.
  MachineValue position(MachineValue i) { return b_.add(first_, b_.convert(DType::kI64, i)); }
  MachineValue is_there(MachineValue position) { return b_.lt(position, b_.size(n_)); }

  MachineValue load_element(MachineValue position) {
    if (pass_.number > 0) return b_.load(elements_, b_.add(row_in_scratch_, position));
    return b_.load(elements_, row_element(b_, sort_.input, sort_.axis, row_in_input_, position));
  }
  /// i32.
  MachineValue digit_of(MachineValue element) {
    const MachineValue key = sort_key(b_, element, sort_.input.type.dtype, sort_.largest);
    const MachineValue shifted = b_.shr(key, b_.constant_int(key.dtype, 8 * static_cast<std::int64_t>(pass_.number)));
    return b_.convert(DType::kI32, b_.bit_and(shifted, b_.constant_int(key.dtype, kRadixDigits - 1)));
  }
  /// Where `counts` has a digit (i64) of this block.
  MachineValue place_of_count(MachineValue row_digit) { return b_.mul_add(row_digit, b_.size(blocks_), block_); }
  MachineValue row_digit() { return b_.mul_add(row_, b_.i64(kRadixDigits), b_.convert(DType::kI64, b_.thread_id())); }

  RadixKernel finish() { return {b_.finish(), std::move(buffers_)}; }

  const SortDescriptor& sort_;
  const RadixPass& pass_;
  const RadixScratch& scratch_;
  MachineBuilder b_;
  SizeExpr n_, rows_, blocks_;
  DType count_;
  std::vector<SequenceOperand> buffers_;
  MemoryHandle elements_;
  MachineValue row_, block_, first_, row_in_scratch_, row_in_input_;  // i64
};

}  // namespace millrace
