// SPDX-License-Identifier: Apache-2.0
#include "base/interval_set.h"

#include <bitset>
#include <random>

#include <doctest/doctest.h>

namespace millrace {
namespace {

constexpr std::int64_t kEnd = 64;

/// Where the run of set bits ends that the first set bit of [begin, end) is in.
std::optional<std::int64_t> end_of_run(const std::bitset<kEnd>& bits, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (!bits[static_cast<std::size_t>(i)]) continue;
    while (i < kEnd && bits[static_cast<std::size_t>(i)]) ++i;
    return i;
  }
  return {};
}

TEST_CASE("an interval set contains what was inserted, as a set of bits does") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    IntervalSet set;
    std::bitset<kEnd> bits;
    for (int step = 0; step < 40; ++step) {
      const auto begin = static_cast<std::int64_t>(random() % kEnd);
      const auto end = std::min<std::int64_t>(kEnd, begin + static_cast<std::int64_t>(random() % 6));
      CHECK(set.end_of_overlap(begin, end) == end_of_run(bits, begin, end));
      CHECK(set.overlaps(begin, end) == end_of_run(bits, begin, end).has_value());
      if (random() % 2 == 0) continue;
      set.insert(begin, end);
      for (std::int64_t i = begin; i < end; ++i) bits.set(static_cast<std::size_t>(i));
      CHECK(set.empty() == bits.none());
    }
  }
}

TEST_CASE("an interval without elements is in no set") {
  IntervalSet set;
  set.insert(5, 5);
  set.insert(7, 3);
  CHECK(set.empty());
  set.insert(0, 10);
  CHECK_FALSE(set.overlaps(5, 5));
  CHECK_FALSE(set.overlaps(7, 3));
}

}  // namespace
}  // namespace millrace
