// SPDX-License-Identifier: Apache-2.0
// A bitonic sort of one tile of records by the threads of a workgroup, which the GPU sorts and TopK kernels share.
#include "jit/algorithms/sort/tile_sorter.h"

#include <algorithm>
#include <bit>

#include "jit/algorithms/control_flow.h"

namespace millrace {

TileSorter::TileSorter(MachineBuilder& b, SortRecords& records, const WorkgroupThreads& threads,
                       const TileExtents& extents)
    : b_(b),
      records_(records),
      threads_(threads),
      extents_(extents),
      lane_(b.lane_id()),
      num_lane_stages_(
          static_cast<std::size_t>(std::countr_zero(std::min(extents.run.maximum, threads.subgroup_size)))) {
  if (!extents.run.bits) return;
  for (std::size_t stage = 1; stage <= num_lane_stages_; ++stage) {
    has_stage_.push_back(b.le(b.i32(static_cast<std::int32_t>(stage)), *extents.run.bits));
  }
}

SortRecord TileSorter::exchange_lanes(const SortRecord& mine, std::uint32_t mask) {
  const SortRecord other = records_.shuffle_xor(mine, mask);
  const auto top_bit = static_cast<std::int32_t>(std::bit_floor(mask));
  const MachineValue is_lower = b_.eq(b_.bit_and(lane_, b_.i32(top_bit)), b_.i32(0));
  // Only padding records can be equal, so ties need no care.
  return records_.select(b_.eq(records_.is_before(other, mine), is_lower), other, mine);
}

SortRecord TileSorter::merge_lanes(SortRecord mine, std::uint32_t distance) {
  for (; distance > 0; distance /= 2) mine = exchange_lanes(mine, distance);
  return mine;
}

SortRecord TileSorter::sort_lanes(SortRecord mine, std::size_t stage) {
  if (stage > num_lane_stages_) return mine;
  const auto sorted = [&] {
    const std::uint32_t size = 1u << stage;
    return sort_lanes(merge_lanes(exchange_lanes(mine, size - 1), size / 4), stage + 1);
  };
  if (has_stage_.empty()) return sorted();
  const auto words = b_.if_else(
      has_stage_[stage - 1], [&] { return records_.words_of(sorted()); }, [&] { return records_.words_of(mine); });
  return records_.record_at(words, 0);
}

/// Compares the records at the two places of pair number `pair`, and exchanges them if they are out of order. The
/// places differ in bit `bit` and, in the first step of a merge, in all lower bits.
void TileSorter::exchange_places(const RecordMemory& memory, MachineValue pair, MachineValue bit,
                                 MachineValue is_first) {
  const MachineValue one = b_.i32(1), distance = b_.shl(one, bit);
  const MachineValue below = b_.bit_and(pair, b_.sub(distance, one));
  const MachineValue low = b_.add(b_.shl(b_.sub(pair, below), one), below);
  const MachineValue mirrored = b_.sub(b_.add(distance, distance), one);
  const MachineValue high = b_.bit_xor(low, b_.select(is_first, mirrored, distance));
  const SortRecord lower = records_.load(memory, low), higher = records_.load(memory, high);
  when(b_, records_.is_before(higher, lower), [&] {
    records_.store(memory, low, higher);
    records_.store(memory, high, lower);
  });
}

void TileSorter::sort(const RecordMemory& memory, const std::function<SortRecord(MachineValue)>& fill) {
  const PowerOfTwo& records = extents_.num_records;
  const std::uint32_t threads = threads_.num_threads, lanes = threads_.subgroup_size;
  for_my_share(b_, records, threads, [&](MachineValue i) { records_.store(memory, i, sort_lanes(fill(i))); });
  const MachineValue lane_bits = b_.i32(std::countr_zero(lanes)), one = b_.i32(1);
  // Stage s merges runs of 2^s records: first in memory, at distances of a subgroup or more, then between lanes of a
  // subgroup.
  for_each(b_, lane_bits, log2_of(b_, extents_.run), one, [&](MachineValue stage) {
    const MachineValue num_steps = b_.add(b_.sub(stage, lane_bits), one);
    for_each(b_, b_.i32(0), num_steps, one, [&](MachineValue step) {
      b_.barrier();
      const MachineValue bit = b_.sub(stage, step), is_first = b_.eq(step, b_.i32(0));
      for_my_share(b_, half_of(b_, records), threads,
                   [&](MachineValue pair) { exchange_places(memory, pair, bit, is_first); });
    });
    b_.barrier();
    for_my_share(b_, records, threads,
                 [&](MachineValue i) { records_.store(memory, i, merge_lanes(records_.load(memory, i), lanes / 2)); });
  });
}

}  // namespace millrace
