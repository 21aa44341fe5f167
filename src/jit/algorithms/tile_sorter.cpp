// SPDX-License-Identifier: Apache-2.0
#include "jit/algorithms/tile_sorter.h"

#include <bit>

#include "jit/algorithms/control_flow.h"

namespace millrace {

TileSorter::TileSorter(MachineBuilder& b, SortRecords& records, const WorkgroupThreads& threads)
    : b_(b), records_(records), threads_(threads), lane_(b.lane_id()) {}

SortRecord TileSorter::exchange_lanes(const SortRecord& mine, std::uint32_t mask) {
  const SortRecord other = records_.shuffle_xor(mine, mask);
  const auto top_bit = static_cast<std::int32_t>(std::bit_floor(mask));
  const MachineValue is_lower = b_.eq(b_.bit_and(lane_, b_.i32(top_bit)), b_.i32(0));
  // Of equal records (what fills a tile up) it does not matter which is taken.
  return records_.select(b_.eq(records_.is_before(other, mine), is_lower), other, mine);
}

SortRecord TileSorter::merge_lanes(SortRecord mine, std::uint32_t distance) {
  for (; distance > 0; distance /= 2) mine = exchange_lanes(mine, distance);
  return mine;
}

SortRecord TileSorter::sort_lanes(SortRecord mine, std::uint32_t run) {
  for (std::uint32_t size = 2; size <= run; size *= 2) mine = merge_lanes(exchange_lanes(mine, size - 1), size / 4);
  return mine;
}

/// The places of pair number `pair` differ in bit number `bit`; in a merge's first step in all bits below as well.
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

void TileSorter::sort(const RecordMemory& memory, std::uint32_t num_records, std::uint32_t run,
                      const std::function<SortRecord(MachineValue)>& fill) {
  const std::uint32_t lanes = threads_.subgroup_size;
  for_my_share(b_, num_records, threads_.num_threads,
               [&](MachineValue i) { records_.store(memory, i, sort_lanes(fill(i), lanes)); });
  const MachineValue lane_bits = b_.i32(std::countr_zero(lanes)), one = b_.i32(1);
  // Stage s merges runs of 2^s: at distances of a subgroup and more in memory, then between lanes.
  for_each(b_, lane_bits, b_.i32(std::countr_zero(run)), one, [&](MachineValue stage) {
    const MachineValue num_steps = b_.add(b_.sub(stage, lane_bits), one);
    for_each(b_, b_.i32(0), num_steps, one, [&](MachineValue step) {
      b_.barrier();
      const MachineValue bit = b_.sub(stage, step), is_first = b_.eq(step, b_.i32(0));
      for_my_share(b_, num_records / 2, threads_.num_threads,
                   [&](MachineValue pair) { exchange_places(memory, pair, bit, is_first); });
    });
    b_.barrier();
    for_my_share(b_, num_records, threads_.num_threads,
                 [&](MachineValue i) { records_.store(memory, i, merge_lanes(records_.load(memory, i), lanes / 2)); });
  });
}

}  // namespace millrace
