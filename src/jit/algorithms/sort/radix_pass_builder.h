// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/scan/workgroup_scan.h"
#include "jit/algorithms/sort/key.h"
#include "jit/algorithms/sort/radix_pass.h"

namespace millrace {

inline constexpr std::uint32_t kRadixThreads = 256;                             // one per value of a digit
inline constexpr std::uint32_t kRadixIterations = 16;                           // elements per thread
inline constexpr std::uint32_t kRadixBlock = kRadixThreads * kRadixIterations;  // elements per workgroup

/// The base of a pass's kernels: finds a workgroup's row and block, reads the block's elements and computes their
/// digits.
class RadixPassBuilder {
 public:
  RadixPassBuilder(std::string_view step, const SortDescriptor& sort, const RadixPass& pass,
                   const RadixScratch& scratch)
      : sort_(sort),
        pass_(pass),
        scratch_(scratch),
        b_(fmt::format("{}_{}_{}", sort.name, step, pass.name())),
        n_(sort.input.type.shape[sort.axis]),
        rows_(num_rows(sort.input.type.shape, sort.axis)),
        blocks_(num_radix_blocks(sort)),
        count_(scratch.count),
        num_digits_(pass.filter == RadixFilter::kUpToThreshold ? kThresholdDigits : kRadixDigits) {
    b_.set_workgroup(kRadixThreads, pass.subgroup_size);
  }

 protected:
  MemoryHandle buffer(std::string name, DType dtype, const SequenceOperand& operand, BufferAccess access) {
    buffers_.push_back(operand);
    return b_.buffer(std::move(name), dtype, access);
  }
  void read_elements() {
    const DType dtype = sort_.input.type.dtype;
    if (pass_.from) {
      elements_ = buffer("values", dtype, pass_.from->values, BufferAccess::kRead);
    } else {
      elements_ = buffer(sort_.input.name, dtype, {SequenceOperand::Kind::kOperand, 0}, BufferAccess::kRead);
    }
    if (!takes_all())
      thresholds_ = buffer("thresholds", sort_key_dtype(dtype), scratch_.thresholds, BufferAccess::kRead);
  }

  /// Assigns one block of a row to each workgroup.
  void place_block() {
    const MachineValue group = b_.workgroup_id();
    b_.set_num_groups(rows_ * blocks_);
    row_ = rows_.is(1) ? b_.i64(0) : b_.div(group, b_.size(blocks_));
    block_ = rows_.is(1) ? group : b_.rem(group, b_.size(blocks_));
    first_ = b_.mul(block_, b_.i64(kRadixBlock));
    row_start_ = pass_.from ? b_.mul(row_, b_.size(n_)) : row_start(b_, sort_.input, sort_.axis, row_);
    if (!takes_all()) threshold_ = b_.load(thresholds_, row_);
  }
  /// Converts an index in the block (i32) to a position in the row (i64).
  MachineValue position(MachineValue i) { return b_.add(first_, b_.convert(DType::kI64, i)); }
  MachineValue is_there(MachineValue position) { return b_.lt(position, b_.size(n_)); }

  MachineValue load_element(MachineValue position) {
    if (pass_.from) return b_.load(elements_, b_.add(row_start_, position));
    return b_.load(elements_, row_element(b_, sort_.input, sort_.axis, row_start_, position));
  }
  MachineValue key_of(MachineValue element) { return sort_key(b_, element, sort_.input.type.dtype, sort_.largest); }

  bool takes_all() const { return pass_.filter == RadixFilter::kAll; }
  /// Whether the pass selects elements with this key. Precondition: the pass does not select all elements.
  MachineValue is_taken(MachineValue key) {
    if (pass_.filter == RadixFilter::kUpToThreshold) return b_.le(key, threshold_);
    return b_.eq(without_low_digits(b_.bit_xor(key, threshold_), pass_.number + 1), b_.constant_int(key.dtype, 0));
  }
  /// The digit of the key, as i32.
  MachineValue digit_of(MachineValue key) {
    if (pass_.filter == RadixFilter::kUpToThreshold) return b_.convert(DType::kI32, b_.eq(key, threshold_));
    const MachineValue digits = without_low_digits(key, pass_.number);
    return b_.convert(DType::kI32, b_.bit_and(digits, b_.constant_int(key.dtype, kRadixDigits - 1)));
  }

  /// Calls body(digit) if the pass selects elements with this key.
  template <class F>
  void when_taken(MachineValue key, F&& body) {
    if (takes_all()) return body(digit_of(key));
    when(b_, is_taken(key), [&] { body(digit_of(key)); });
  }

  bool has_digit_each() const { return num_digits_ == kRadixThreads; }
  /// Whether some digit has this thread's id as its value.
  MachineValue has_digit() { return b_.lt(b_.thread_id(), b_.i32(static_cast<std::int32_t>(num_digits_))); }
  template <class F>
  void for_my_digit(F&& body) {
    if (has_digit_each()) return body();
    when(b_, has_digit(), body);
  }

  /// Counts the block's elements of each digit, in workgroup memory. Returns i32 counts.
  MemoryHandle count_block() {
    const MemoryHandle counts = b_.workgroup_memory(DType::kI32, static_cast<std::uint64_t>(num_digits_), "counts");
    place_block();
    for_my_digit([&] { b_.store(counts, b_.thread_id(), b_.i32(0)); });
    b_.barrier();
    for_my_share(b_, kRadixBlock, kRadixThreads, [&](MachineValue i) {
      const MachineValue at = position(i);
      when(b_, is_there(at), [&] {
        when_taken(key_of(load_element(at)),
                   [&](MachineValue digit) { b_.atomic(KernelOp::kAtomicAdd, counts, digit, b_.i32(1)); });
      });
    });
    b_.barrier();
    return counts;
  }

  /// A scan that sums one count per thread, over all threads or over each group of `width` threads.
  WorkgroupScan thread_sums() { return sums_of({kRadixThreads}); }
  WorkgroupScan sums_of(const PowerOfTwo& width) {
    return {b_,
            [this](MachineValue a, MachineValue c) { return b_.add(a, c); },
            b_.constant_int(count_, 0),
            {.width = width, .subgroup_size = pass_.subgroup_size}};
  }

  /// The index in `counts` (i64) of this block's count of a digit. `row_digit` (i64) identifies the row and the digit.
  MachineValue place_of_count(MachineValue row_digit) { return b_.mul_add(row_digit, b_.size(blocks_), block_); }
  MachineValue row_digit() { return b_.mul_add(row_, b_.i64(num_digits_), b_.convert(DType::kI64, b_.thread_id())); }

  RadixKernel finish() { return {b_.finish(), std::move(buffers_)}; }

  const SortDescriptor& sort_;
  const RadixPass& pass_;
  const RadixScratch& scratch_;
  MachineBuilder b_;
  SizeExpr n_, rows_, blocks_;
  DType count_;
  std::int64_t num_digits_;
  std::vector<SequenceOperand> buffers_;
  MemoryHandle elements_, thresholds_;
  MachineValue row_, block_, first_, row_start_;  // all i64
  MachineValue threshold_;                        // the row's threshold

 private:
  MachineValue without_low_digits(MachineValue key, unsigned num_low) {
    return b_.shr(key, b_.constant_int(key.dtype, 8 * static_cast<std::int64_t>(num_low)));
  }
};

}  // namespace millrace
