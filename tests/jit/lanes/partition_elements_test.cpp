// SPDX-License-Identifier: Apache-2.0
// The partition that makes the keys of a row, on the host and emitted, against keys that are computed beforehand.
#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "jit/lanes/sort_microkernels.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/support/kernels/evaluate_lanes.h"

namespace millrace {
namespace {

using test::GuardedMemory;

std::int64_t at(const void* memory) { return reinterpret_cast<std::int64_t>(memory); }

/// Elements of any bits. Two hold a zero with a sign, and a NaN, if those are floats.
GuardedMemory random_row(DType dtype, std::int64_t n, bool has_special, std::mt19937_64& random) {
  const auto bytes = static_cast<std::size_t>(size_bytes(dtype));
  GuardedMemory row(static_cast<std::size_t>(n) * bytes, GuardedMemory::Side::kEnd);
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t bits = random();
    // Without the highest bit of the exponent, a float is finite.
    if (is_float(dtype)) bits = (bits & ~(std::uint64_t{1} << (8 * bytes - 2))) | 1;
    if (has_special && i == n / 2) bits = std::uint64_t{1} << (8 * bytes - 1);
    if (has_special && i == n / 3) bits = ~std::uint64_t{0};
    std::memcpy(row.data() + static_cast<std::size_t>(i) * bytes, &bits, bytes);
  }
  row.make_read_only();
  return row;
}

template <class Key>
void check_partition(IsaLevel isa, const LaneKeys& lanes) {
  constexpr std::int64_t kFirst = 1000;
  KeptLanes kept;
  SortRowsParameters p{};
  append_sort(p, kept.sink(isa), lanes, {.keys = true, .splits = true});
  const LaneFunction &make = kept[p.make_keys], &split = kept[p.partition_elements];
  const LaneCode code(split);
  std::mt19937_64 random(7);
  for (const std::int64_t n : {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 100, 1000}) {
    for (const bool has_special : {false, true}) {
      CAPTURE(n);
      CAPTURE(has_special);
      const GuardedMemory row = random_row(lanes.dtype, n, has_special, random);
      std::vector<Key> keys(static_cast<std::size_t>(n));
      const std::int64_t lost = evaluate_lanes(make, {at(row.data()), at(keys.data()), n, kFirst});
      for (const std::size_t pivot_place : {std::size_t{0}, keys.size() / 2}) {
        const Key pivot = keys.empty() ? Key{0} : keys[pivot_place];
        std::vector<Key> expected_low, expected_high;
        for (const Key key : keys) (key < pivot ? expected_low : expected_high).push_back(key);
        for (const bool emitted : {false, true}) {
          CAPTURE(emitted);
          const GuardedMemory low(keys.size() * sizeof(Key), GuardedMemory::Side::kEnd);
          const GuardedMemory high(keys.size() * sizeof(Key), GuardedMemory::Side::kEnd);
          const std::array<std::int64_t, kMaxLaneArguments> arguments = {
              at(row.data()), at(low.data()), at(high.data()), n, static_cast<std::int64_t>(pivot), kFirst};
          const std::int64_t end = emitted ? code.run(arguments) : evaluate_lanes(split, arguments);
          CHECK(end - at(low.data()) == static_cast<std::int64_t>(expected_low.size() * sizeof(Key)) + lost);
          CHECK(std::ranges::equal(expected_low, std::span(reinterpret_cast<Key*>(low.data()), expected_low.size())));
          CHECK(
              std::ranges::equal(expected_high, std::span(reinterpret_cast<Key*>(high.data()), expected_high.size())));
        }
      }
    }
  }
}

TEST_CASE("rows of elements are partitioned like their keys") {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kF64, DType::kU64, DType::kF16}) {
      for (const bool largest : {false, true}) {
        for (const bool with_index : {false, true}) {
          const LaneKeys keys = {dtype, largest, with_index};
          CAPTURE(to_text(dtype));
          CAPTURE(largest);
          CAPTURE(with_index);
          keys.lane_bits() == 64 ? check_partition<std::int64_t>(isa, keys) : check_partition<std::int32_t>(isa, keys);
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace
