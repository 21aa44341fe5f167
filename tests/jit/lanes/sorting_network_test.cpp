// SPDX-License-Identifier: Apache-2.0
// The 0-1 principle: a network that sorts every sequence of zeros and ones sorts every sequence (Knuth, volume 3,
// 5.3.4). On the host, without code.
#include "jit/lanes/sorting_network.h"

#include <algorithm>
#include <bit>
#include <random>

#include <doctest/doctest.h>

#include "jit/lanes/sort_microkernels.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/support/kernels/evaluate_lanes.h"

namespace millrace {
namespace {

TEST_CASE("sorting networks of up to 16 elements sort all sequences of zeros and ones") {
  for (int size = 0; size <= 16; ++size) {
    CAPTURE(size);
    const std::vector<Comparator> network = sorting_network(size);
    for (const Comparator& comparator : network) {
      REQUIRE(comparator.low < comparator.high);
      REQUIRE(comparator.high < size);
    }
    int num_wrong = 0;
    for (std::uint32_t bits = 0; bits < 1u << size; ++bits) {
      std::uint32_t sorted = bits;
      for (const Comparator& comparator : network) {
        const std::uint32_t low = sorted >> comparator.low & 1, high = sorted >> comparator.high & 1;
        if (low > high) sorted ^= 1u << comparator.low | 1u << comparator.high;
      }
      // Ones last.
      const int ones = std::popcount(bits);
      num_wrong += sorted != ((1u << size) - 1u) - ((1u << (size - ones)) - 1u);
    }
    CHECK(num_wrong == 0);
  }
}

/// Loads `num_vectors`, sorts and stores them.
LaneFunction sorter(IsaLevel isa, int lane_bits, int num_vectors) {
  LaneBuilder b(isa, lane_bits);
  const int vector_bytes = b.num_lanes() * lane_bits / 8;
  std::vector<LaneValue> vectors;
  for (int i = 0; i < num_vectors; ++i) vectors.push_back(b.load(0, i * vector_bytes, b.lane_element()));
  sort_lanes(b, vectors);
  for (int i = 0; i < num_vectors; ++i) {
    b.store(0, i * vector_bytes, b.lane_element(), vectors[static_cast<std::size_t>(i)]);
  }
  return b.finish_with(0);
}

template <class Key>
bool sorts(const LaneFunction& function, std::vector<Key> keys) {
  std::vector<Key> expected = keys;
  std::ranges::sort(expected);
  evaluate_lanes(function, {reinterpret_cast<std::int64_t>(keys.data())});
  return keys == expected;
}

template <class Key>
void check_sizes() {
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    for (int num_vectors = 1; num_vectors <= 16; num_vectors *= 2) {
      const LaneFunction function = sorter(isa, 8 * sizeof(Key), num_vectors);
      const auto size = static_cast<std::size_t>(function.num_lanes * num_vectors);
      CAPTURE(size);
      std::mt19937 random(7);
      int num_wrong = 0;
      const bool is_exhaustive = size <= 8;
      const std::uint32_t num_cases = is_exhaustive ? 1u << size : 300;
      for (std::uint32_t one = 0; one < num_cases; ++one) {
        std::vector<Key> keys(size);
        const std::uint32_t ones_of_256 = random() % 257;
        for (std::size_t i = 0; i < size; ++i) keys[i] = is_exhaustive ? one >> i & 1 : random() % 256 < ones_of_256;
        num_wrong += !sorts(function, keys);
      }
      // A run of zeros between ones at every place finds a comparator that is missing anywhere.
      for (std::size_t first = 0; first < size; ++first) {
        for (const std::size_t length : {std::size_t{1}, size / 2}) {
          std::vector<Key> keys(size, 1);
          for (std::size_t i = 0; i < length; ++i) keys[(first + i) % size] = 0;
          num_wrong += !sorts(function, keys);
        }
      }
      CHECK(num_wrong == 0);
    }
  }
}

TEST_CASE("vectors of 32-bit lanes are sorted") { check_sizes<std::int32_t>(); }
TEST_CASE("vectors of 64-bit lanes are sorted") { check_sizes<std::int64_t>(); }

/// How often all vectors are regrouped, in pairs.
std::ptrdiff_t regroupings(const LaneFunction& function, int num_vectors) {
  return std::ranges::count(function.instructions, LaneOp::kRegroupLow, &LaneInstruction::op) * 2 / num_vectors;
}

TEST_CASE("bits of lanes are regrouped as rarely as replacing the bit of the last comparison allows") {
  struct Case {
    IsaLevel isa;
    int lane_bits;
    std::ptrdiff_t to_sort, to_merge;
  };
  // One for each comparison in a bit that is not vectors' then, and those that take bits home.
  for (const Case& c : {Case{IsaLevel::kAvx2, 32, 9 + 1, 3 + 2}, Case{IsaLevel::kAvx2, 64, 5 + 1, 2 + 2},
                        Case{IsaLevel::kAvx512, 32, 14 + 1, 4 + 1}, Case{IsaLevel::kAvx512, 64, 9 + 1, 3 + 1}}) {
    CAPTURE(c.lane_bits);
    for (int num_vectors = 2; num_vectors <= 16; num_vectors *= 2) {
      CAPTURE(num_vectors);
      const LaneFunction sort = sorter(c.isa, c.lane_bits, num_vectors);
      CHECK(regroupings(sort, num_vectors) == c.to_sort);
      CHECK(std::ranges::count(sort.instructions, LaneOp::kExchange, &LaneInstruction::op) == 0);
    }
    // Halves are merged one after the other.
    KeptLanes lanes;
    const RowSorterCode code = append_sorter(lanes.sink(c.isa), c.lane_bits);
    CHECK(regroupings(lanes[code.merge_runs[1]], 32) == c.to_merge);
  }
}

/// Merges runs of zeros and ones, of all lengths and with every number of zeros that `step` reaches.
template <class Key>
void check_merges(int step) {
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    KeptLanes lanes;
    const RowSorterCode code = append_sorter(lanes.sink(isa), 8 * sizeof(Key));
    for (std::size_t i = 0; i < RowSorterCode::kNumMerges; ++i) {
      const int num_vectors = RowSorterCode::kMergedVectors[i];
      const LaneFunction& function = lanes[code.merge_runs[i]];
      const auto first = std::size_t{16} * static_cast<std::size_t>(function.num_lanes);
      const auto most = static_cast<std::size_t>(function.num_lanes * num_vectors);
      CAPTURE(most);
      std::mt19937 random(7);
      int num_wrong = 0;
      for (std::size_t zeros = 0; zeros <= first; zeros += random() % static_cast<unsigned>(step) + 1) {
        for (std::size_t more_zeros = 0; first + more_zeros <= most; more_zeros += random() % 4 + 1) {
          const auto least = most - static_cast<std::size_t>(8 * function.num_lanes) + 1;
          const std::size_t size = std::max(first + more_zeros, least + random() % (most - least + 1));
          std::vector<Key> keys(size, 1), expected(size, 1);
          std::fill_n(keys.begin(), zeros, 0);
          std::fill_n(keys.begin() + static_cast<std::ptrdiff_t>(first), more_zeros, 0);
          std::fill_n(expected.begin(), zeros + more_zeros, 0);
          const auto memory = reinterpret_cast<std::int64_t>(keys.data());
          evaluate_lanes(function, {memory, memory, static_cast<std::int64_t>(size)});
          num_wrong += keys != expected;
        }
      }
      CHECK(num_wrong == 0);
    }
  }
}

/// Merges two runs of 32 vectors by the functions for halves.
template <class Key>
void check_long_merges(unsigned step) {
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    KeptLanes lanes;
    const RowSorterCode code = append_sorter(lanes.sink(isa), 8 * sizeof(Key));
    const LaneFunction &exchange = lanes[code.exchange_halves], &merge = lanes[code.merge_bitonic];
    const auto half = std::size_t{32} * static_cast<std::size_t>(merge.num_lanes);
    std::mt19937 random(7);
    int num_wrong = 0;
    for (std::size_t zeros = 0; zeros <= half; zeros += random() % step + 1) {
      for (std::size_t more_zeros = 0; more_zeros <= half; more_zeros += random() % step + 1) {
        std::vector<Key> keys(2 * half, 1), expected(2 * half, 1);
        std::fill_n(keys.begin(), zeros, 0);
        std::fill_n(keys.begin() + static_cast<std::ptrdiff_t>(half), more_zeros, 0);
        std::fill_n(expected.begin(), zeros + more_zeros, 0);
        evaluate_lanes(exchange, {reinterpret_cast<std::int64_t>(keys.data())});
        for (const std::size_t first : {std::size_t{0}, half}) {
          evaluate_lanes(merge, {reinterpret_cast<std::int64_t>(keys.data() + first)});
        }
        num_wrong += keys != expected;
      }
    }
    CHECK(num_wrong == 0);
  }
}

TEST_CASE("runs of 32 vectors are merged") {
  check_long_merges<std::int32_t>(24);
  check_long_merges<std::int64_t>(12);
}

TEST_CASE("sorted runs of 32-bit lanes are merged") { check_merges<std::int32_t>(8); }
TEST_CASE("sorted runs of 64-bit lanes are merged") { check_merges<std::int64_t>(4); }

}  // namespace
}  // namespace millrace
