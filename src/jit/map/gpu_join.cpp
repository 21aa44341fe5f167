// SPDX-License-Identifier: Apache-2.0
// Joins the reduced values of a workgroup's threads: by shuffles within subgroups, then in workgroup memory between
// subgroups.
#include <algorithm>
#include <bit>

#include "jit/map/gpu.h"

namespace millrace {
namespace {

/// The better of two values; of equal values, the one with the lower index. The order of the arguments does not matter.
TileReduction join_found(MachineBuilder& b, ReductionKind kind, const TileReduction& a, const TileReduction& other) {
  MachineValue is_equal = b.eq(a.value, other.value);
  if (is_float(a.value.dtype)) {
    const MachineValue are_nan = b.bit_and(b.ne(a.value, a.value), b.ne(other.value, other.value));
    is_equal = b.bit_or(is_equal, are_nan);
  }
  const MachineValue is_earlier = b.bit_and(is_equal, b.lt(other.index, a.index));
  const MachineValue takes = b.bit_or(is_better(b, kind, other.value, a.value), is_earlier);
  return {b.select(takes, other.value, a.value), b.select(takes, other.index, a.index)};
}

TileReduction join(MachineBuilder& b, ReductionKind kind, const TileReduction& a, const TileReduction& other) {
  if (returns_index(kind)) return join_found(b, kind, a, other);
  return combine(b, kind, a, other.value, other.index);
}

/// Workgroup memory for the values of one accumulator in all threads.
class SharedReduction {
 public:
  SharedReduction(MachineBuilder& b, bool has_index, DType dtype, std::uint32_t num_threads)
      : b_(b), has_index_(has_index), values_(b.workgroup_memory(dtype, num_threads, "parts")) {
    if (has_index) indices_ = b.workgroup_memory(DType::kI64, num_threads, "part_indices");
  }
  void store(const TileReduction& mine) {
    b_.store(values_, b_.thread_id(), mine.value);
    if (has_index_) b_.store(indices_, b_.thread_id(), mine.index);
  }
  TileReduction load(MachineValue thread) {
    const MachineValue value = b_.load(values_, thread);
    return {value, has_index_ ? b_.load(indices_, thread) : value};
  }

 private:
  MachineBuilder& b_;
  bool has_index_;
  MemoryHandle values_;
  MemoryHandle indices_{};
};

Accumulators join_subgroups(MachineBuilder& b, std::uint32_t num_threads, ThreadBits bits,
                            std::span<const Reduction> reductions, const Accumulators& accumulators) {
  std::vector<SharedReduction> shared;
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const bool has_index = returns_index(reductions[i].kind);
    shared.emplace_back(b, has_index, accumulators[i].value.dtype, num_threads);
    shared.back().store(accumulators[i]);
  }
  b.barrier();
  const std::int32_t step = 1 << bits.first;
  const std::int32_t end = 1 << bits.end;
  const MachineValue first = b.bit_and(b.thread_id(), b.i32(~(end - step)));
  Accumulators joined;
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    TileReduction all = shared[i].load(first);
    for (std::int32_t at = step; at < end; at += step) {
      all = join(b, reductions[i].kind, all, shared[i].load(b.add(first, b.i32(at))));
    }
    joined.push_back(all);
  }
  return joined;
}

}  // namespace

Accumulators join_threads(MachineBuilder& b, const SharingThreads& threads, std::span<const Reduction> reductions,
                          Accumulators accumulators) {
  ThreadBits bits = threads.bits;
  const auto subgroup_bits = static_cast<std::uint32_t>(std::countr_zero(threads.subgroup_size));
  for (std::uint32_t bit = bits.first; bit < std::min(bits.end, subgroup_bits); ++bit) {
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
      const TileReduction& mine = accumulators[i];
      const ReductionKind kind = reductions[i].kind;
      TileReduction other;
      other.value = b.shuffle_xor(mine.value, 1u << bit);
      other.index = returns_index(kind) ? b.shuffle_xor(mine.index, 1u << bit) : other.value;
      accumulators[i] = join(b, kind, mine, other);
    }
  }
  bits.first = std::max(bits.first, subgroup_bits);
  if (bits.first >= bits.end || accumulators.empty()) return accumulators;
  return join_subgroups(b, threads.workgroup_size, bits, reductions, accumulators);
}

}  // namespace millrace
