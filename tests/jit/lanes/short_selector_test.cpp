// SPDX-License-Identifier: Apache-2.0
// The selection of elements of short rows that include the first k.
#include "hal/host/routines/topk/short_selector.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "jit/lanes/select_microkernels.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/lane_code.h"

namespace millrace {
namespace {

using test::GuardedMemory;

/// Selects from rows of i32 or i64 in ascending order, whose keys are the elements themselves.
template <class Key>
class ShortSelection {
 public:
  using Selector = ShortSelector<Key>;

  explicit ShortSelection(IsaLevel isa)
      : minima_(Selector::kMinimaBytes, GuardedMemory::Side::kEnd),
        found_(Selector::kMaxNumbers * sizeof(Key), GuardedMemory::Side::kEnd),
        others_(Selector::kMaxNumbers * sizeof(Key), GuardedMemory::Side::kEnd) {
    const SorterFunctions sorter = {.merges = false, .partitions = false};
    append_selection(parameters_, lanes_.sink(isa), kKeys, {.short_sorter = sorter, .has_long_rows = false});
  }

  std::int64_t num_lanes() const { return parameters_.selector.num_lanes; }

  /// The numbers found of each row.
  std::vector<std::vector<Key>> select(const std::vector<std::vector<Key>>& rows, std::int64_t k) {
    const std::size_t row_bytes = rows[0].size() * sizeof(Key);
    const GuardedMemory elements(rows.size() * row_bytes, GuardedMemory::Side::kEnd);
    Selector selector(nullptr, parameters_.selector, parameters_.sorter, {as_keys(minima_), as_keys(others_)},
                      static_cast<std::int64_t>(rows[0].size()), k);
    const auto at = [&](std::size_t i) { return elements.data() + i * row_bytes; };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::ranges::copy(rows[i], reinterpret_cast<Key*>(at(i)));
      selector.find_minima(static_cast<std::int64_t>(i), at(i));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) selector.sort_minima(static_cast<std::int64_t>(i));
    std::vector<std::vector<Key>> numbers;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Key bound = selector.bound_of(static_cast<std::int64_t>(i));
      const std::int64_t count = selector.find(at(i), {bound, bound}, as_keys(found_));
      numbers.emplace_back(as_keys(found_), as_keys(found_) + count);
    }
    return numbers;
  }

 private:
  static constexpr LaneKeys kKeys = {.dtype = sizeof(Key) == 8 ? DType::kI64 : DType::kI32, .with_index = true};
  static Key* as_keys(const GuardedMemory& memory) { return reinterpret_cast<Key*>(memory.data()); }

  MappedLanes lanes_;
  GuardedMemory minima_, found_, others_;
  TopkRowsParameters parameters_{};
};

struct Pattern {
  std::string_view name;
  std::int64_t (*key)(std::int64_t i, std::int64_t n, std::mt19937_64& random);
};
template <class Key>
constexpr Pattern kPatterns[] = {
    {"random", [](auto, auto, auto& random) { return static_cast<std::int64_t>(random() % 1'000'000'000); }},
    {"ascending", [](auto i, auto, auto&) { return i; }},
    {"descending", [](auto i, auto n, auto&) { return n - i; }},
    {"equal", [](auto, auto, auto&) { return std::int64_t{5}; }},
    {"least", [](auto, auto, auto&) { return std::int64_t{std::numeric_limits<Key>::min()}; }},
    {"greatest", [](auto, auto, auto&) { return std::int64_t{std::numeric_limits<Key>::max()}; }},
    {"two values", [](auto, auto, auto& random) { return static_cast<std::int64_t>(random() % 2); }},
    {"two values, one of them rare", [](auto, auto, auto& random) { return std::int64_t{random() % 50 != 0}; }},
    {"the smallest in one lane", [](auto i, auto, auto&) { return i % 16 == 3 ? i : 100'000 + i; }},
    {"sawtooth", [](auto i, auto, auto&) { return -(i % 41); }},
};

template <class Key>
void check_short_rows(IsaLevel isa) {
  ShortSelection<Key> selection(isa);
  for (const Pattern& pattern : kPatterns<Key>) {
    for (const std::int64_t n : {1, 7, 8, 9, 15, 16, 17, 64, 255, 256, 300, 1023, 2048}) {
      for (const std::int64_t k : {1, 2, 8, 16, 31, 32}) {
        if (k > n || !ShortSelector<Key>::takes(n, k, selection.num_lanes())) continue;
        CAPTURE(pattern.name);
        CAPTURE(n);
        CAPTURE(k);
        std::mt19937_64 random(3);
        std::vector<std::vector<Key>> rows(static_cast<std::size_t>(ShortSelector<Key>::kRowsAtOnce));
        for (auto& row : rows) {
          for (std::int64_t i = 0; i < n; ++i) row.push_back(static_cast<Key>(pattern.key(i, n, random)));
        }
        const auto found = selection.select(rows, k);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const auto before = [&](Key a, Key b) {
            const Key left = rows[i][static_cast<std::size_t>(a)], right = rows[i][static_cast<std::size_t>(b)];
            return left != right ? left < right : a < b;
          };
          std::vector<Key> expected(rows[i].size()), numbers = found[i];
          for (std::size_t j = 0; j < expected.size(); ++j) expected[j] = static_cast<Key>(j);
          std::ranges::sort(expected, before);
          REQUIRE(static_cast<std::int64_t>(numbers.size()) >= k);
          // Fewer than k groups have an element before the bound.
          const std::int64_t lanes = selection.num_lanes(), group = (n + lanes - 1) / lanes;
          CHECK(static_cast<std::int64_t>(numbers.size()) <= std::max(4 * k, k + k * group));
          std::ranges::sort(numbers, before);
          CHECK(std::ranges::adjacent_find(numbers) == numbers.end());
          CHECK(std::equal(expected.begin(), expected.begin() + k, numbers.begin()));
        }
      }
    }
  }
}

TEST_CASE("the first elements of short rows of 32-bit keys are found") {
  for (const IsaLevel isa : host_lane_levels()) check_short_rows<std::int32_t>(isa);
}
TEST_CASE("the first elements of short rows of 64-bit keys are found") {
  for (const IsaLevel isa : host_lane_levels()) check_short_rows<std::int64_t>(isa);
}

}  // namespace
}  // namespace millrace
