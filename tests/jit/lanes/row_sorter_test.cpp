// SPDX-License-Identifier: Apache-2.0
// The sort of rows of keys by microkernels: sizes around every threshold, hard orders and values, and how many
// keys are read.
#include "hal/host/routines/sort/row_sorter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string_view>

#include <doctest/doctest.h>

#include "hal/host/routines/sort/sort_rows.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/sorter_code.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedMemory;

template <class Key>
struct Pattern {
  std::string_view name;
  std::function<Key(std::int64_t i, std::int64_t n, std::mt19937_64& random)> key;
};

template <class Key>
std::vector<Pattern<Key>> patterns() {
  using I = std::int64_t;
  using R = std::mt19937_64;
  return {
      {"random", [](I, I, R& random) { return static_cast<Key>(random()); }},
      {"ascending", [](I i, I, R&) { return static_cast<Key>(i); }},
      {"descending", [](I i, I, R&) { return static_cast<Key>(-i); }},
      {"one change", [](I i, I n, R&) { return static_cast<Key>(i == n / 2 ? -1 : i); }},
      {"random tail", [](I i, I n, R& random) { return static_cast<Key>(i < n - n / 16 ? i : random() % 100'000); }},
      {"organ pipe", [](I i, I n, R&) { return static_cast<Key>(std::min(i, n - i)); }},
      {"sawtooth", [](I i, I, R&) { return static_cast<Key>(i % 97); }},
      {"equal", [](I, I, R&) { return Key{7}; }},
      {"greatest", [](I, I, R&) { return std::numeric_limits<Key>::max(); }},
      {"least", [](I, I, R&) { return std::numeric_limits<Key>::min(); }},
      {"two values", [](I, I, R& random) { return static_cast<Key>(random() % 2); }},
      {"sixteen values", [](I, I, R& random) { return static_cast<Key>(random() % 16); }},
      {"zipf", [](I, I, R& random) { return static_cast<Key>(1'000'000 / (1 + random() % 1'000'000)); }},
      {"equal high words", [](I, I, R& random) { return static_cast<Key>(random() & 0xffff); }},
      {"equal low words", [](I, I, R& random) { return static_cast<Key>(random() << 4 * sizeof(Key)); }},
      {"equal ends", [](I, I, R& random) { return static_cast<Key>((random() & 0x3f) << 4 * sizeof(Key)); }},
      {"mostly greatest",
       [](I, I, R& random) {
         return random() % 50 == 0 ? static_cast<Key>(random()) : std::numeric_limits<Key>::max();
       }},
  };
}

template <class Key>
std::vector<std::int64_t> sizes(IsaLevel isa) {
  const std::int64_t lanes = num_lanes_of(isa, 8 * sizeof(Key));
  std::vector<std::int64_t> sizes = {0, 1, 2, 3};
  for (const std::int64_t vectors : {1, 2, 4, 8, 16, 24, 32, 48, 56, 64, 128}) {
    for (const std::int64_t beside : {-1, 0, 1}) sizes.push_back(vectors * lanes + beside);
  }
  for (const std::int64_t size : {500, 1000, 4095, 4096, 4097, 30'000, 100'003}) sizes.push_back(size);
  return sizes;
}

/// Sorts the first `wanted` of `input` and compares them. Returns the keys read.
template <class Key>
std::int64_t check_sort(const RowSorterCode& code, const std::vector<Key>& input, std::int64_t wanted,
                        KeyParts parts = KeyParts::kWhole) {
  const std::size_t bytes = input.size() * sizeof(Key);
  const GuardedMemory keys(bytes, GuardedMemory::Side::kEnd), other(bytes, GuardedMemory::Side::kEnd);
  const GuardedMemory fixed(SortRowsParameters::kFixedBytes, GuardedMemory::Side::kEnd);
  std::copy(input.begin(), input.end(), reinterpret_cast<Key*>(keys.data()));
  RowSorter<Key> sorter(nullptr, code, {fixed.data(), fixed.data() + RowSorterMemory::kSampleBytes}, parts);
  sorter.sort(reinterpret_cast<Key*>(keys.data()), reinterpret_cast<Key*>(other.data()),
              static_cast<std::int64_t>(input.size()), wanted);
  std::vector<Key> expected = input;
  std::ranges::sort(expected);
  const Key* found = reinterpret_cast<const Key*>(keys.data());
  CHECK(std::equal(expected.begin(), expected.begin() + wanted, found));
  const std::int64_t read = sorter.keys_read();
  // The same, with the other keys behind the first ones.
  std::copy(input.begin(), input.end(), reinterpret_cast<Key*>(keys.data()));
  sorter.sort(reinterpret_cast<Key*>(keys.data()), reinterpret_cast<Key*>(other.data()),
              static_cast<std::int64_t>(input.size()), wanted, RowSorter<Key>::Rest::kKept);
  std::vector<Key> all(found, found + input.size());
  CHECK(std::equal(expected.begin(), expected.begin() + wanted, all.begin()));
  std::ranges::sort(all);
  CHECK(all == expected);
  return read;
}

/// Writes the first `wanted` of `input` while they are sorted, and compares them.
template <class Key>
void check_written(const SorterCode& code, const std::vector<Key>& input, std::int64_t wanted) {
  const std::size_t bytes = input.size() * sizeof(Key);
  const GuardedMemory keys(bytes, GuardedMemory::Side::kEnd), other(bytes, GuardedMemory::Side::kEnd);
  const GuardedMemory fixed(SortRowsParameters::kFixedBytes, GuardedMemory::Side::kEnd);
  const GuardedMemory results(static_cast<std::size_t>(wanted) * sizeof(Key), GuardedMemory::Side::kEnd);
  std::copy(input.begin(), input.end(), reinterpret_cast<Key*>(keys.data()));
  RowSorter<Key> sorter(nullptr, code.code(), {fixed.data(), fixed.data() + RowSorterMemory::kSampleBytes});
  const auto n = static_cast<std::int64_t>(input.size());
  const SplitKeys<Key> all = {reinterpret_cast<Key*>(keys.data()), reinterpret_cast<Key*>(other.data()), n, n};
  sorter.sort_to(all, wanted, code.writer(), results.data());
  std::vector<Key> expected = input;
  std::ranges::sort(expected);
  CHECK(std::equal(expected.begin(), expected.begin() + wanted, reinterpret_cast<const Key*>(results.data())));
}

template <class Key>
void check_patterns(IsaLevel isa, const CoreTuning& tuning) {
  const SorterCode code(isa, 8 * sizeof(Key), tuning);
  for (const Pattern<Key>& pattern : patterns<Key>()) {
    for (const std::int64_t n : sizes<Key>(isa)) {
      CAPTURE(pattern.name);
      CAPTURE(n);
      std::mt19937_64 random(static_cast<std::uint64_t>(n));
      std::vector<Key> input;
      for (std::int64_t i = 0; i < n; ++i) input.push_back(pattern.key(i, n, random));
      const std::int64_t read = check_sort(code.code(), input, n);
      // n log2 n at most, and 2 passes to find out.
      CHECK(static_cast<double>(read) <= static_cast<double>(n) * (2 + std::log2(static_cast<double>(n) + 1)));
      const std::int64_t few = n / 10;
      const std::int64_t read_for_few = check_sort(code.code(), input, few);
      CHECK(read_for_few <= read);
      check_written(code, input, n);
      check_written(code, input, few);
    }
  }
}

TEST_CASE("rows of 32-bit keys are sorted" * test::Sliced()) {
  for (const IsaLevel isa : host_lane_levels()) check_patterns<std::int32_t>(isa, {});
}
TEST_CASE("rows of 64-bit keys are sorted" * test::Sliced()) {
  for (const IsaLevel isa : host_lane_levels()) check_patterns<std::int64_t>(isa, {});
}
TEST_CASE("rows are sorted by code for cores with one port for minima" * test::Sliced()) {
  for (const IsaLevel isa : host_lane_levels()) {
    check_patterns<std::int32_t>(isa, {.has_one_minimum_port = true});
    check_patterns<std::int64_t>(isa, {.has_one_minimum_port = true});
  }
}

/// Writes the indices of the first `wanted` while keys above indices are sorted, and compares them.
template <class Lane>
void check_written_indices(const SorterCode& code, const std::vector<Lane>& input, std::int64_t wanted) {
  const std::size_t bytes = input.size() * sizeof(Lane);
  const GuardedMemory keys(bytes, GuardedMemory::Side::kEnd), other(bytes, GuardedMemory::Side::kEnd);
  const GuardedMemory fixed(SortRowsParameters::kFixedBytes, GuardedMemory::Side::kEnd);
  const GuardedMemory results(static_cast<std::size_t>(wanted) * sizeof(std::int64_t), GuardedMemory::Side::kEnd);
  std::copy(input.begin(), input.end(), reinterpret_cast<Lane*>(keys.data()));
  RowSorter<Lane> sorter(nullptr, code.code(), {fixed.data(), fixed.data() + RowSorterMemory::kSampleBytes},
                         KeyParts::kUpperHalf);
  const auto n = static_cast<std::int64_t>(input.size());
  const SplitKeys<Lane> all = {reinterpret_cast<Lane*>(keys.data()), reinterpret_cast<Lane*>(other.data()), n, n};
  sorter.sort_to(all, wanted, code.index_writer(), results.data());
  std::vector<Lane> sorted = input;
  std::ranges::sort(sorted);
  std::vector<std::int64_t> expected;
  for (const Lane lane : std::span(sorted).first(static_cast<std::size_t>(wanted))) {
    expected.push_back(static_cast<std::int64_t>(lane) & ((std::int64_t{1} << 4 * sizeof(Lane)) - 1));
  }
  CHECK(
      std::ranges::equal(expected, std::span(reinterpret_cast<const std::int64_t*>(results.data()), expected.size())));
}

/// Rows whose keys fill the upper half of a lane.
template <class Lane, class Key>
void check_keys_above_index(IsaLevel isa, std::initializer_list<std::int64_t> lengths) {
  const SorterCode code(isa, 8 * sizeof(Lane));
  for (const Pattern<Key>& pattern : patterns<Key>()) {
    for (const std::int64_t n : lengths) {
      CAPTURE(pattern.name);
      CAPTURE(n);
      std::mt19937_64 random(static_cast<std::uint64_t>(n));
      std::vector<Lane> input;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t key = pattern.key(i, n, random);
        input.push_back(static_cast<Lane>(key << (8 * sizeof(Key)) | i));
      }
      const std::int64_t read = check_sort(code.code(), input, n, KeyParts::kUpperHalf);
      CHECK(static_cast<double>(read) <= static_cast<double>(n) * (2 + std::log2(static_cast<double>(n) + 1)));
      check_sort(code.code(), input, n / 3, KeyParts::kUpperHalf);
      check_written_indices(code, input, n);
      check_written_indices(code, input, n / 3);
    }
  }
}

TEST_CASE("rows of keys above an index are sorted, equal ones by the index" * test::Sliced()) {
  for (const IsaLevel isa : host_lane_levels()) {
    check_keys_above_index<std::int64_t, std::int32_t>(isa, {7, 1000, 4095, 4096, 4097, 131'072, 131'073, 200'000});
    check_keys_above_index<std::int32_t, std::int16_t>(isa, {7, 511, 512, 513, 1000, 4095, 4096, 4097, 65'536});
  }
}

/// Puts the smallest keys wherever the first pivots are sampled, so that every split is bad.
template <class Key>
std::vector<Key> sampling_killer(const RowSorterCode& code, std::int64_t n) {
  // Plays the sort with keys that are decided late (McIlroy, "A killer adversary for quicksort", 1999, by positions):
  // after a bad split at the smallest keys, the rest keeps its order, so the next samples are known.
  std::vector<std::int64_t> left(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<std::int64_t>(i);
  std::vector<Key> keys(left.size(), -1);
  Key next = 0;
  while (static_cast<std::int64_t>(left.size()) > code.max_short()) {
    const auto count = static_cast<std::int64_t>(left.size());
    const std::int64_t num_vectors =
        std::min<std::int64_t>(count < 4096 ? 32 : 128, code.max_network_keys()) / code.num_lanes;
    const std::int64_t stride = count / num_vectors;
    std::vector<bool> is_sampled(left.size(), false);
    for (std::int64_t i = 0; i < num_vectors; ++i) {
      for (std::int64_t lane = 0; lane < code.num_lanes; ++lane) {
        is_sampled[static_cast<std::size_t>(i * stride + (stride - code.num_lanes) / 2 + lane)] = true;
      }
    }
    std::vector<std::int64_t> low, rest;
    for (std::size_t i = 0; i < left.size(); ++i) (is_sampled[i] ? low : rest).push_back(left[i]);
    // The pivot is the median of these: half of them are split off.
    const std::size_t num_split = low.size() / 2 + 1;
    for (std::size_t i = 0; i < low.size(); ++i) {
      if (i < num_split) {
        keys[static_cast<std::size_t>(low[i])] = next++;
      } else {
        rest.push_back(low[i]);
      }
    }
    std::ranges::sort(rest);
    left = rest;
  }
  for (const std::int64_t i : left) keys[static_cast<std::size_t>(i)] = next++;
  return keys;
}

TEST_CASE("keys that mislead every sample are sorted in O(n log n)" * test::Sliced()) {
  for (const IsaLevel isa : host_lane_levels()) {
    const SorterCode code(isa, 32);
    for (const std::int64_t n : {5'000, 50'000, 200'000}) {
      CAPTURE(n);
      const std::vector<std::int32_t> keys = sampling_killer<std::int32_t>(code.code(), n);
      check_written(code, keys, n);
      const std::int64_t read = check_sort(code.code(), keys, n);
      const double log2 = std::log2(static_cast<double>(n));
      // Without a limit, each pass takes 65 keys away: n / 65 passes of n / 2.
      CHECK(static_cast<double>(read) > 2 * static_cast<double>(n) * log2);  // it does mislead them
      CHECK(static_cast<double>(read) < 6 * static_cast<double>(n) * log2);
    }
  }
}

TEST_CASE("digits replace misleading samples if not all keys above an index are wanted") {
  for (const IsaLevel isa : host_lane_levels()) {
    const SorterCode code(isa, 64);
    for (const std::int64_t n : {3'000, 5'000}) {
      CAPTURE(n);
      std::vector<std::int64_t> input = sampling_killer<std::int64_t>(code.code(), n);
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t& key = input[static_cast<std::size_t>(i)];
        key = (key << 32) | i;
      }
      for (const std::int64_t wanted : {n, n - 1, n / 2, std::int64_t{1}}) check_written_indices(code, input, wanted);
    }
  }
}

/// Divides keys into buckets and compares these with a scan of all keys per bucket.
template <class Key>
void check_division(const RowSorterCode& code, const std::vector<Key>& input, const std::vector<Key>& cuts) {
  const std::size_t bytes = input.size() * sizeof(Key);
  const GuardedMemory keys(bytes, GuardedMemory::Side::kEnd), other(bytes, GuardedMemory::Side::kEnd);
  const GuardedMemory to(bytes, GuardedMemory::Side::kEnd);
  RowSorter<Key> sorter(nullptr, code, {nullptr, nullptr});
  std::vector<std::uint32_t> starts(cuts.size() + 2, 77);
  SplitKeys<Key> split = {reinterpret_cast<Key*>(keys.data()), reinterpret_cast<Key*>(other.data()),
                          static_cast<std::int64_t>(input.size()), 0};
  split.num_low = sorter.split(input.data(), split.count, sorter.middle_of(cuts), split.keys, split.other);
  sorter.divide(split, cuts, reinterpret_cast<Key*>(to.data()), starts.data());
  std::vector<Key> expected;
  std::vector<std::uint32_t> expected_starts;
  for (std::size_t bucket = 0; bucket <= cuts.size(); ++bucket) {
    expected_starts.push_back(static_cast<std::uint32_t>(expected.size()));
    std::ranges::copy_if(input, std::back_inserter(expected), [&](Key key) {
      return (bucket == 0 || key >= cuts[bucket - 1]) && (bucket == cuts.size() || key < cuts[bucket]);
    });
  }
  expected_starts.push_back(static_cast<std::uint32_t>(expected.size()));
  CHECK(starts == expected_starts);
  CHECK(std::equal(expected.begin(), expected.end(), reinterpret_cast<const Key*>(to.data())));
}

template <class Key>
void check_divisions(IsaLevel isa) {
  const SorterCode code(isa, 8 * sizeof(Key));
  for (const Pattern<Key>& pattern : patterns<Key>()) {
    for (const std::int64_t n : {1, 15, 16, 17, 1000, 5003}) {
      for (const std::size_t num_cuts : {1, 2, 3, 6, 31, 64}) {
        CAPTURE(pattern.name);
        CAPTURE(n);
        CAPTURE(num_cuts);
        std::mt19937_64 random(static_cast<std::uint64_t>(n));
        std::vector<Key> input, cuts;
        for (std::int64_t i = 0; i < n; ++i) input.push_back(pattern.key(i, n, random));
        for (std::size_t i = 0; i < num_cuts; ++i) cuts.push_back(input[random() % input.size()]);
        // Some are right behind others.
        for (std::size_t i = 1; i < num_cuts; i += 3) {
          if (cuts[i - 1] < std::numeric_limits<Key>::max()) cuts[i] = cuts[i - 1] + 1;
        }
        std::ranges::sort(cuts);
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        check_division(code.code(), input, cuts);
      }
    }
  }
}

TEST_CASE("keys are divided into buckets that keep their order") {
  for (const IsaLevel isa : host_lane_levels()) {
    check_divisions<std::int32_t>(isa);
    check_divisions<std::int64_t>(isa);
  }
}

void check_random_rows(IsaLevel isa) {
  const SorterCode narrow(isa, 32), wide(isa, 64);
  std::mt19937_64 random(11);
  for (int round = 0; round < 3000; ++round) {
    const auto n = static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 9000 : 700));
    CAPTURE(round);
    CAPTURE(n);
    const std::uint64_t range = 1 + (std::uint64_t{1} << random() % 63);
    const auto wanted = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n + 1));
    std::vector<std::int32_t> short_keys;
    std::vector<std::int64_t> long_keys;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t key = random() % range;
      short_keys.push_back(static_cast<std::int32_t>(key));
      long_keys.push_back(static_cast<std::int64_t>(key) - (std::int64_t{1} << 20));
    }
    check_sort(narrow.code(), short_keys, wanted);
    check_sort(wide.code(), long_keys, wanted);
  }
}

TEST_CASE("random rows are sorted" * test::Sliced()) {
  for (const IsaLevel isa : host_lane_levels()) check_random_rows(isa);
}

TEST_CASE("the functions of a sort stay below 16 KiB") {
  std::size_t bytes = 0;
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    for (const int lane_bits : {32, 64}) {
      append_sorter({isa,
                     [&](const LaneFunction& function) {
                       bytes = std::max(bytes, LaneCode(function).size_bytes());
                       return std::int64_t{1};
                     }},
                    lane_bits);
    }
  }
  CHECK(bytes < 16 << 10);
}

}  // namespace
}  // namespace millrace
