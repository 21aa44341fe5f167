// SPDX-License-Identifier: Apache-2.0
// Generated code of lane functions against their evaluation on the host.
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/support/kernels/evaluate_lanes.h"

namespace millrace {
namespace {

using test::GuardedMemory;

/// Appends the lanes below and above a bound to two streams, and counts lanes in a variable.
LaneFunction split_function(IsaLevel isa, int lane_bits) {
  LaneBuilder b(isa, lane_bits);
  const LaneValue bound = b.broadcast(4);
  const LaneValue sum = b.variable(b.constant(0));
  b.for_vectors(3, [&](LaneValue mask) {
    const bool is_rest = mask != kNoLaneValue;
    const LaneValue keys =
        is_rest ? b.load_masked(0, 0, b.lane_element(), mask, bound) : b.load(0, 0, b.lane_element());
    LaneValue below = b.binary(LaneOp::kLess, keys, bound);
    LaneValue others = b.invert(below);
    if (is_rest) {
      below = b.binary(LaneOp::kBoth, below, mask);
      others = b.binary(LaneOp::kBoth, others, mask);
    }
    b.assign(sum, b.binary(LaneOp::kAdd, sum, b.select(below, keys, b.constant(0))));
    b.append(1, keys, below, is_rest);
    b.append(2, keys, others, is_rest);
    b.advance(0, b.num_lanes() * b.lane_element().bytes);
  });
  b.store(5, 0, b.lane_element(), sum);
  return b.finish_with(2);
}

template <class Key>
void check_split(IsaLevel isa) {
  const LaneFunction function = split_function(isa, 8 * sizeof(Key));
  const LaneCode code(function);
  std::mt19937 random(5);
  for (std::size_t count = 0; count < 70; ++count) {
    CAPTURE(count);
    const GuardedMemory keys(count * sizeof(Key), GuardedMemory::Side::kEnd);
    for (std::size_t i = 0; i < count; ++i) {
      const auto key = static_cast<Key>(random() % 100) - 50;
      std::memcpy(keys.data() + i * sizeof(Key), &key, sizeof(Key));
    }
    std::vector<Key> lows[2], highs[2], sums[2];
    std::int64_t num_high[2];
    for (int is_code = 0; is_code < 2; ++is_code) {
      std::vector<Key>& low = lows[is_code];
      std::vector<Key>& high = highs[is_code];
      sums[is_code].resize(16);
      low.resize(count + 1, 1234);
      high.resize(count + 1, 1234);
      const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
      const std::array<std::int64_t, kMaxLaneArguments> arguments = {
          at(keys.data()),         at(low.data()), at(high.data()), static_cast<std::int64_t>(count), 3,
          at(sums[is_code].data())};
      const std::int64_t end = is_code != 0 ? code.run(arguments) : evaluate_lanes(function, arguments);
      num_high[is_code] = (end - at(high.data())) / static_cast<std::int64_t>(sizeof(Key));
      // Neither writes behind the arrays.
      CHECK(low[count] == 1234);
      CHECK(high[count] == 1234);
      high.resize(static_cast<std::size_t>(num_high[is_code]));
      low.resize(count - high.size());
    }
    CHECK(num_high[0] == num_high[1]);
    CHECK(lows[0] == lows[1]);
    CHECK(highs[0] == highs[1]);
    CHECK(sums[0] == sums[1]);
  }
}

TEST_CASE("code of loops appends the same lanes as the host") {
  for (const IsaLevel isa : host_lane_levels()) {
    check_split<std::int32_t>(isa);
    check_split<std::int64_t>(isa);
  }
}

/// Streams whole vectors, and advances a pointer by a loaded lane.
TEST_CASE("code streams, advances by a lane and returns a lane like the host") {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const int lane_bits : {32, 64}) {
      LaneBuilder b(isa, lane_bits);
      const LaneValue first = b.load(0, 0, b.lane_element());
      b.advance_by(0, first, 4);
      b.advance(0, -64);
      const LaneValue there = b.load(0, 64, b.lane_element());
      b.stream(1, 0, there);
      const LaneFunction function = b.finish_with_first(b.binary(LaneOp::kAdd, there, b.constant(-7)));
      const LaneCode code(function);
      alignas(64) std::int64_t input[32] = {3}, results[2][8] = {};
      if (lane_bits == 32) input[0] = 2 * 3;
      for (std::int64_t i = 1; i < 32; ++i) input[i] = i;
      const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
      CHECK(evaluate_lanes(function, {at(input), at(results[0])}) == code.run({at(input), at(results[1])}));
      CHECK(std::memcmp(results[0], results[1], sizeof(results[0])) == 0);
      CHECK(results[0][1] != 0);
    }
  }
}

}  // namespace
}  // namespace millrace
