// SPDX-License-Identifier: Apache-2.0
// Finds the first k of each row with a heap of k records, the last of them at its root. Vectors of elements are
// compared with the root. Only elements that come before the root are examined one by one; each of them replaces the
// root. Random rows have about k ln(n / k) such elements. Reads each element once, or twice if its vector contains such
// an element. O(n log k) at worst. Each workgroup scans one row in order, so that of equal elements the first stay in
// the heap.
// Source: Williams, "Algorithm 232: Heapsort", Communications of the ACM 7, 1964.
#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/size_margin.h"
#include "jit/algorithms/sort/records.h"
#include "jit/algorithms/sort/results.h"
#include "jit/algorithms/sort/row_halves.h"

namespace millrace {
namespace {

constexpr std::int64_t kMinElementsPerResult = 4;  // row length / k; below this, a merge sort of the row is as fast
constexpr std::int64_t kVectorsTogether = 4;       // vectors compared per branch

class HeapBuilder {
 public:
  HeapBuilder(const SortDescriptor& sort, std::int64_t lanes, bool in_scratch)
      : sort_(sort), b_(sort.name), records_(b_, sort), lanes_(lanes), in_scratch_(in_scratch) {
    input_ = b_.buffer(sort.input.name, sort.input.type.dtype, BufferAccess::kRead);
    results_.emplace(b_, sort);
    n_ = b_.size(sort.input.type.shape[sort.axis]);
    k_ = b_.size(sort.k);
    heap_ =
        in_scratch
            ? records_.in_buffer(BufferAccess::kReadWrite)
            : records_.in_workgroup_memory(static_cast<std::uint64_t>(std::max<std::int64_t>(sort.k.constant(), 1)));
  }

  MachineKernel run() {
    b_.set_num_groups(num_rows(sort_.input.type.shape, sort_.axis));
    row_ = b_.workgroup_id();
    start_ = row_start(b_, sort_.input, sort_.axis, row_);
    base_ = in_scratch_ ? b_.mul(row_, k_) : b_.i64(0);
    depth_ = depth();
    when(b_, b_.lt(b_.i64(0), k_), [&] {
      make_heap();
      take_rest();
      write_results();
    });
    return b_.finish();
  }

 private:
  /// The number of levels of the heap: floor(log2(k)) + 1.
  MachineValue depth() {
    if (sort_.k.is_constant()) return b_.i64(std::bit_width(static_cast<std::uint64_t>(sort_.k.constant())));
    return b_.for_loop(b_.i64(0), b_.i64(62), b_.i64(1), {b_.i64(0)},
                       [&](MachineValue i, const MachineBuilder::Values& count) {
                         const MachineValue more = b_.le(b_.shl(b_.i64(1), i), k_);
                         return MachineBuilder::Values{b_.add(count[0], b_.convert(DType::kI64, more))};
                       })[0];
  }

  MachineValue place_of(MachineValue element) { return row_element(b_, sort_.input, sort_.axis, start_, element); }
  SortRecord record_of(MachineValue element) {
    return records_.make(b_.load(input_, place_of(element)), b_.convert(records_.index_dtype(), element));
  }
  SortRecord in_heap(MachineValue node) { return records_.load(heap_, b_.add(base_, node)); }

  /// Puts `record` at `node` or below it, among the heap's first `size` nodes. Always runs one step per level of the
  /// heap: after the record has reached its place, further steps store it there again.
  void sift_down(MachineValue node, const SortRecord& record, MachineValue size) {
    const MachineValue last = b_.sub(size, b_.i64(1));
    b_.for_loop(b_.i64(0), depth_, b_.i64(1), {node}, [&](MachineValue, const MachineBuilder::Values& carried) {
      const MachineValue left = b_.add(b_.add(carried[0], carried[0]), b_.i64(1));
      const MachineValue left_there = b_.min(left, last), right_there = b_.min(b_.add(left, b_.i64(1)), last);
      const SortRecord a = in_heap(left_there), c = in_heap(right_there);
      const MachineValue takes_right = records_.is_before(a, c);
      const SortRecord child = records_.select(takes_right, c, a);
      const MachineValue descends = b_.bit_and(b_.lt(left, size), records_.is_before(record, child));
      records_.store(heap_, b_.add(base_, carried[0]), records_.select(descends, child, record));
      return MachineBuilder::Values{b_.select(descends, b_.select(takes_right, right_there, left_there), carried[0])};
    });
  }

  void make_heap() {
    for_each(b_, b_.i64(0), k_, b_.i64(1),
             [&](MachineValue i) { records_.store(heap_, b_.add(base_, i), record_of(i)); });
    const MachineValue num_parents = b_.shr(k_, b_.i64(1));
    for_each(b_, b_.i64(0), num_parents, b_.i64(1), [&](MachineValue i) {
      const MachineValue node = b_.sub(b_.sub(num_parents, i), b_.i64(1));
      sift_down(node, in_heap(node), k_);
    });
  }

  bool compares_keys() const { return size_bytes(sort_.input.type.dtype) == 2 && is_float(sort_.input.type.dtype); }
  /// The values that are compared: elements as they are loaded, or the keys of 16-bit floats.
  MachineValue comparable(MachineValue loaded) {
    return compares_keys() ? sort_key(b_, loaded, sort_.input.type.dtype, sort_.largest) : loaded;
  }
  MachineValue comparable_of_root() {
    const MachineValue element = records_.index_of(in_heap(b_.i64(0)));
    return comparable(b_.load(input_, place_of(element)));
  }

  /// Whether each lane of `x` comes before `bound`. Equal values do not, because those in the heap come earlier in the
  /// row.
  MachineValue is_before(MachineValue x, MachineValue bound) {
    const bool ascends = compares_keys() || !sort_.largest;
    if (!is_float(x.dtype)) return ascends ? b_.lt(x, bound) : b_.lt(bound, x);
    // NaN is greatest.
    const MachineValue is_number = b_.eq(bound, bound);
    if (!ascends) return b_.bit_and(b_.bit_xor(b_.le(x, bound), b_.constant_int(DType::kBool, 1)), is_number);
    return b_.bit_or(b_.lt(x, bound), b_.bit_and(b_.eq(x, x), b_.bit_xor(is_number, b_.constant_int(DType::kBool, 1))));
  }

  MachineValue take_element(MachineValue element, MachineValue bound) {
    const MachineValue is_taken = is_before(comparable(b_.load(input_, place_of(element))), bound);
    return b_.if_else(
        is_taken,
        [&] {
          sift_down(b_.i64(0), record_of(element), k_);
          return MachineBuilder::Values{comparable_of_root()};
        },
        [&] { return MachineBuilder::Values{bound}; })[0];
  }
  MachineValue take_elements(MachineValue first, MachineValue end, MachineValue bound) {
    return b_.for_loop(first, end, b_.i64(1), {bound},
                       [&](MachineValue element, const MachineBuilder::Values& carried) {
                         return MachineBuilder::Values{take_element(element, carried[0])};
                       })[0];
  }

  MachineValue are_before(MachineValue first, MachineValue bound) {
    const auto lanes = static_cast<std::uint32_t>(lanes_);
    return is_before(comparable(b_.load(input_, place_of(first), lanes)), b_.splat(bound, lanes));
  }
  MachineValue take_vector(MachineValue first, MachineValue bound) {
    return b_.if_else(
        b_.reduce(KernelOp::kReduceMax, are_before(first, bound)),
        [&] { return MachineBuilder::Values{take_elements(first, b_.add(first, b_.i64(lanes_)), bound)}; },
        [&] { return MachineBuilder::Values{bound}; })[0];
  }
  MachineValue take_vectors(MachineValue first, MachineValue bound) {
    const MachineValue end = b_.add(first, b_.i64(lanes_ * kVectorsTogether));
    MachineValue any = are_before(first, bound);
    for (std::int64_t i = 1; i < kVectorsTogether; ++i) {
      any = b_.bit_or(any, are_before(b_.add(first, b_.i64(i * lanes_)), bound));
    }
    return b_.if_else(
        b_.reduce(KernelOp::kReduceMax, any),
        [&] {
          return b_.for_loop(first, end, b_.i64(lanes_), {bound},
                             [&](MachineValue at, const MachineBuilder::Values& carried) {
                               return MachineBuilder::Values{take_vector(at, carried[0])};
                             });
        },
        [&] { return MachineBuilder::Values{bound}; })[0];
  }

  /// Processes the row's elements after the first k.
  void take_rest() {
    MachineValue bound = comparable_of_root(), first = k_;
    if (lanes_ > 1) {
      const MachineValue step = b_.i64(lanes_ * kVectorsTogether);
      const MachineValue end = b_.add(k_, b_.mul(b_.div(b_.sub(n_, k_), step), step));
      bound = b_.for_loop(k_, end, step, {bound}, [&](MachineValue at, const MachineBuilder::Values& carried) {
        return MachineBuilder::Values{take_vectors(at, carried[0])};
      })[0];
      first = end;
    }
    take_elements(first, n_, bound);
  }

  void write_results() {
    const auto write = [&](MachineValue position, const SortRecord& record) {
      results_->write(input_, row_, position, records_.index_of(record));
    };
    if (!sort_.sorted) {
      for_each(b_, b_.i64(0), k_, b_.i64(1), [&](MachineValue i) { write(i, in_heap(i)); });
      return;
    }
    // The root is the record that comes last in the result. The record in the heap's last node replaces it.
    const MachineValue last = b_.sub(k_, b_.i64(1));
    for_each(b_, b_.i64(0), last, b_.i64(1), [&](MachineValue i) {
      const MachineValue position = b_.sub(last, i);
      write(position, in_heap(b_.i64(0)));
      sift_down(b_.i64(0), in_heap(position), position);
    });
    write(b_.i64(0), in_heap(b_.i64(0)));
  }

  const SortDescriptor& sort_;
  MachineBuilder b_;
  SortRecords records_;
  std::int64_t lanes_;
  bool in_scratch_;
  MemoryHandle input_;
  std::optional<SortResults> results_;
  RecordMemory heap_;
  MachineValue n_, k_, row_, start_, base_, depth_;
};

/// The lanes of a vector of compared values; 1 if a row is not contiguous.
std::int64_t lanes_of(const SortDescriptor& sort, const TargetSpec& spec) {
  if (!sort.input.layout.strides[sort.axis].is(1)) return 1;
  const DType dtype = sort.input.type.dtype;
  const DType compared = is_float(dtype) && size_bytes(dtype) == 2 ? sort_key_dtype(dtype) : dtype;
  return spec.vector_bytes() / static_cast<std::int64_t>(size_bytes(compared));
}

/// Bytes of a row's heap.
SizeExpr heap_bytes(const SortDescriptor& sort) {
  SizeExpr bytes = 0;
  for (const std::int64_t word : record_form_of(sort).word_bytes()) bytes = bytes + sort.k * word;
  return bytes;
}

/// The margin of the condition that k is below a quarter of n. The condition is strict, so that it fails for k = n even
/// if rows are empty. If k is constant and n is not, the condition counts as true for every n.
SizeExpr margin_of_few(const SortDescriptor& sort) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (sort.k.is_constant() && !n.is_constant()) return 1;
  return margin_of_at_least(n - sort.k * kMinElementsPerResult, 1);
}

}  // namespace

std::vector<RequestCase> topk_heap_cases(const KernelRequest& request, const TargetSpec&) {
  const auto& sort = std::get<SortDescriptor>(request);
  return {sort_case(margin_of_few(sort), sort, {}, "_heap")};
}

Result<KernelSequence> lower_topk_heap(const KernelRequest& request, const Target& target,
                                       const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  if (options.force_algorithm.empty() && never_holds(margin_of_few(sort))) {
    return unimplemented(
        fmt::format("the first {} of {} elements per row, expected less than a quarter of them to pay off",
                    sort.k.to_text(), sort.input.type.shape[sort.axis].to_text()));
  }
  const SizeExpr bytes = heap_bytes(sort);
  const bool in_scratch = !fits_workgroup(bytes, target.spec());
  KernelSequence sequence;
  std::vector<SequenceOperand> buffers = operands_then_results(1, num_results(sort));
  if (in_scratch) {
    append_record_scratch(sequence, sort, num_rows(sort.input.type.shape, sort.axis) * sort.k, buffers);
  }
  const std::int64_t lanes = lanes_of(sort, target.spec());
  MILLRACE_TRY(
      append_kernel(sequence, HeapBuilder(sort, lanes, in_scratch).run(), std::move(buffers), target, options));
  return sequence;
}

}  // namespace millrace
