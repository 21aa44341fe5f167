// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/few_vectors.h"

#include "jit/lanes/row_keys.h"

namespace millrace {

LaneValue value_of(LaneBuilder& b, LaneValue key, const LaneKeys& keys) {
  if (!keys.with_index) return element_of_coarse(b, key, coarse(keys));
  return element_of_exact(b, key_above_index(b, key, keys), keys);
}

void store_indices(LaneBuilder& b, int pointer, std::int32_t offset_bytes, LaneValue lanes, const LaneKeys& keys,
                   LaneValue mask, LaneValue count) {
  const LaneValue index = b.binary(LaneOp::kAnd, lanes, b.constant((std::int64_t{1} << keys.index_bits()) - 1));
  if (b.lane_bits() == 64) return b.store(pointer, offset_bytes, b.lane_element(), index, mask);
  // An i64 is a pair of lanes, of which the upper one is 0.
  const auto [low, high] = b.regroup(index, b.constant(0), BitOrder::interleaved(b.num_lanes()));
  LaneValue pair_mask = kNoLaneValue;
  for (const bool is_high : {false, true}) {
    if (mask != kNoLaneValue) {
      const LaneValue first = b.constant(is_high ? b.num_lanes() : 0);
      pair_mask =
          b.binary(LaneOp::kLess, b.binary(LaneOp::kAdd, b.numbers(), first), b.binary(LaneOp::kAdd, count, count));
    }
    const std::int32_t half_bytes = b.num_lanes() * b.lane_element().bytes;
    b.store(pointer, offset_bytes + (is_high ? half_bytes : 0), b.lane_element(), is_high ? high : low, pair_mask);
  }
}

void store_key(LaneBuilder& b, int pointer, int i, LaneValue key, const FewMasks& masks) {
  b.store(pointer, i * b.num_lanes() * b.lane_element().bytes, b.lane_element(), key, masks.of(i));
}

void store_result(LaneBuilder& b, int pointer, int i, LaneValue key, const LaneKeys& keys, SortResult result,
                  const FewMasks& masks) {
  if (result == SortResult::kValues) {
    const LaneElement element = element_of(keys.dtype);
    b.store(pointer, i * b.num_lanes() * element.bytes, element, value_of(b, key, keys), masks.of(i));
  } else {
    store_indices(b, pointer, i * b.num_lanes() * kIndexBytes, key, keys, masks.of(i), masks.count_from(i));
  }
}

}  // namespace millrace
