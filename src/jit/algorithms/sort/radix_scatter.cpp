// SPDX-License-Identifier: Apache-2.0
// The last kernel of a GPU radix pass: it moves a block's elements to their places. Elements with equal digits keep
// their order in the block, which is by subgroup, then by iteration, then by thread.
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/sort/radix_pass_builder.h"
#include "jit/algorithms/sort/results.h"

namespace millrace {
namespace {

/// The number of bits set in a u32 or u64, as i32. LLVM recognises this sequence and emits a single instruction for it.
MachineValue count_ones(MachineBuilder& b, MachineValue x) {
  const std::uint64_t ones = x.dtype == DType::kU64 ? UINT64_MAX : UINT32_MAX;
  const auto constant = [&](std::uint64_t value) { return b.constant_int(x.dtype, static_cast<std::int64_t>(value)); };
  const MachineValue twos = constant(ones / 15 * 3);
  x = b.sub(x, b.bit_and(b.shr(x, constant(1)), constant(ones / 3)));
  x = b.add(b.bit_and(x, twos), b.bit_and(b.shr(x, constant(2)), twos));
  x = b.bit_and(b.add(x, b.shr(x, constant(4))), constant(ones / 255 * 15));
  return b.convert(DType::kI32, b.shr(b.mul(x, constant(ones / 255)), constant(8 * size_bytes(x.dtype) - 8)));
}

class ScatterBuilder : RadixPassBuilder {
 public:
  ScatterBuilder(const SortDescriptor& sort, const RadixPass& pass, const RadixScratch& scratch)
      : RadixPassBuilder("scatter", sort, pass, scratch),
        num_subgroups_(kRadixThreads / pass.subgroup_size),
        num_moved_(pass.to && takes_all() ? n_ : sort.k) {}

  RadixKernel run() {
    bind_buffers();
    stash_ = b_.workgroup_memory(sort_.input.type.dtype, kRadixBlock, "elements");
    places_ = b_.workgroup_memory(count_, static_cast<std::uint64_t>(num_subgroups_ * num_digits_), "places");
    place_block();
    row_in_moved_ = b_.mul(row_, b_.size(num_moved_));
    subgroup_digits_ = b_.mul(b_.subgroup_id(), b_.i32(static_cast<std::int32_t>(num_digits_)));
    for_my_digit(
        [&] { for_my_places([&](MachineValue place) { b_.store(places_, place, b_.constant_int(count_, 0)); }); });
    b_.barrier();
    for_my_elements([&](MachineValue i) { count_element(i); });
    place_digits();
    b_.barrier();
    for_my_elements([&](MachineValue i) { move_element(i); });
    return finish();
  }

 private:
  void bind_buffers() {
    read_elements();
    const bool wants_indices = sort_.indices.has_value();
    if (wants_indices && pass_.from) indices_ = buffer("indices", count_, pass_.from->indices, BufferAccess::kRead);
    counts_ = buffer("counts", count_, scratch_.counts, BufferAccess::kRead);
    totals_ = buffer("totals", count_, scratch_.totals, BufferAccess::kRead);
    if (!pass_.to) {
      results_.emplace(b_, sort_);
      for (std::uint32_t i = 0; i < num_results(sort_); ++i) buffers_.push_back({SequenceOperand::Kind::kResult, i});
      return;
    }
    moved_ = buffer("moved", sort_.input.type.dtype, pass_.to->values, BufferAccess::kWrite);
    if (wants_indices) moved_indices_ = buffer("moved_indices", count_, pass_.to->indices, BufferAccess::kWrite);
  }

  /// Calls body(i) for this thread's elements. The threads of a subgroup handle neighbouring elements, in order.
  template <class F>
  void for_my_elements(F&& body) {
    const MachineValue lanes = b_.i32(static_cast<std::int32_t>(pass_.subgroup_size));
    const MachineValue first = b_.mul(b_.subgroup_id(), b_.mul(lanes, b_.i32(kRadixIterations)));
    for_each(b_, b_.i32(0), b_.i32(kRadixIterations), b_.i32(1),
             [&](MachineValue iteration) { body(b_.add(b_.mul_add(iteration, lanes, first), b_.lane_id())); });
  }

  /// Calls body(place) for the places of this thread's digit, one per subgroup.
  template <class F>
  void for_my_places(F&& body) {
    for (std::int64_t first = 0; first < num_subgroups_ * num_digits_; first += num_digits_) {
      body(b_.add(b_.thread_id(), b_.i32(static_cast<std::int32_t>(first))));
    }
  }
  MachineValue place_of(MachineValue digit) { return b_.add(subgroup_digits_, digit); }

  void count_element(MachineValue i) {
    const MachineValue at = position(i);
    when(b_, is_there(at), [&] {
      const MachineValue element = load_element(at);
      b_.store(stash_, i, element);
      when_taken(key_of(element), [&](MachineValue digit) {
        b_.atomic(KernelOp::kAtomicAdd, places_, place_of(digit), b_.constant_int(count_, 1));
      });
    });
  }

  /// For each subgroup and digit, replaces the number of elements by the place in the row of the first of them.
  void place_digits() {
    const MachineValue digit = row_digit(), zero = b_.constant_int(count_, 0);
    const MachineValue total =
        has_digit_each() ? b_.load(totals_, digit) : b_.load_masked(totals_, digit, has_digit(), zero);
    // The scan contains a barrier, so all threads have counted when it ends.
    const MachineValue lower_digits = thread_sums().run(total).before;
    for_my_digit([&] {
      MachineValue start = b_.add(lower_digits, b_.load(counts_, place_of_count(digit)));
      for_my_places([&](MachineValue place) {
        const MachineValue count = b_.load(places_, place);
        b_.store(places_, place, start);
        start = b_.add(start, count);
      });
    });
  }

  /// A bit mask of the threads of the subgroup whose elements have this thread's digit.
  MachineValue peers_of(MachineValue digit, MachineValue is_element) {
    const DType bits = pass_.subgroup_size == 64 ? DType::kU64 : DType::kU32;
    const auto ballot = [&](MachineValue flag) { return b_.convert(bits, b_.ballot(flag)); };
    MachineValue peers = ballot(is_element);
    for (std::int32_t bit = 1; bit < num_digits_; bit *= 2) {
      const MachineValue has_bit = b_.ne(b_.bit_and(digit, b_.i32(bit)), b_.i32(0));
      const MachineValue others = b_.select(has_bit, b_.constant_int(bits, 0), b_.constant_int(bits, -1));
      peers = b_.bit_and(peers, b_.bit_xor(ballot(has_bit), others));
    }
    return peers;
  }

  /// Threads whose elements have equal digits write to neighbouring places, in order. The first of these threads
  /// reserves the places for all.
  void move_element(MachineValue i) {
    const MachineValue at = position(i), is_inside = is_there(at);
    const MachineValue nothing = b_.constant_int(register_dtype(stash_.dtype), 0);
    const MachineValue element = b_.load_masked(stash_, i, is_inside, nothing);
    const MachineValue key = key_of(element), digit = digit_of(key);
    const MachineValue is_element = takes_all() ? is_inside : b_.bit_and(is_inside, is_taken(key));
    const MachineValue peers = peers_of(digit, is_element);
    const auto constant = [&](std::int64_t value) { return b_.constant_int(peers.dtype, value); };
    const MachineValue my_bit = b_.shl(constant(1), b_.convert(peers.dtype, b_.lane_id()));
    const MachineValue rank = count_ones(b_, b_.bit_and(peers, b_.sub(my_bit, constant(1))));
    const MachineValue is_first = b_.bit_and(is_element, b_.eq(rank, b_.i32(0)));
    const MachineValue taken = b_.if_else(
        is_first,
        [&] {
          const MachineValue count = b_.convert(count_, count_ones(b_, peers));
          return MachineBuilder::Values{b_.atomic(KernelOp::kAtomicAdd, places_, place_of(digit), count)};
        },
        [&] { return MachineBuilder::Values{b_.constant_int(count_, 0)}; })[0];
    const MachineValue lowest = b_.bit_and(peers, b_.sub(constant(0), peers));
    const MachineValue first_lane = count_ones(b_, b_.sub(lowest, constant(1)));
    const MachineValue place = b_.add(b_.shuffle(taken, first_lane), b_.convert(count_, rank));
    when(b_, is_element, [&] { write(b_.convert(DType::kI64, place), element, at); });
  }

  void write(MachineValue place, MachineValue element, MachineValue at) {
    const auto index = [&](DType dtype) {
      return b_.convert(dtype, pass_.from ? b_.load(indices_, b_.add(row_start_, at)) : at);
    };
    const auto write_wanted = [&] {
      if (pass_.to) {
        const MachineValue to = b_.add(row_in_moved_, place);
        b_.store(moved_, to, element);
        if (sort_.indices) b_.store(moved_indices_, to, index(count_));
        return;
      }
      if (sort_.values) results_->write_value(row_, place, element);
      if (sort_.indices) results_->write_index(row_, place, index(DType::kI64));
    };
    if (num_moved_ == n_) return write_wanted();
    when(b_, b_.lt(place, b_.size(num_moved_)), write_wanted);
  }

  std::int64_t num_subgroups_;
  SizeExpr num_moved_;  // per row
  MemoryHandle indices_, counts_, totals_, moved_, moved_indices_;
  std::optional<SortResults> results_;
  MemoryHandle stash_;   // the block's elements, so that they are read once
  MemoryHandle places_;  // by subgroup and digit: counts, then the next element's place
  MachineValue row_in_moved_, subgroup_digits_;
};

}  // namespace

RadixKernel build_radix_scatter(const SortDescriptor& sort, const RadixPass& pass, const RadixScratch& scratch) {
  return ScatterBuilder(sort, pass, scratch).run();
}

}  // namespace millrace
