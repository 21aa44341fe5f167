// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/linear_scan.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("overlapping ranges have different registers") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<LiveRange> ranges;
    int first = 0;
    for (std::uint32_t i = 0; i < random() % 60; ++i) {
      first += static_cast<int>(random() % 3);
      ranges.push_back({first, first + static_cast<int>(random() % 40)});
    }
    const int num_registers = 1 + static_cast<int>(random() % 12);
    const Allocation allocation = allocate_registers(ranges, num_registers);
    int num_wrong = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const ValueLocation& location = allocation.locations[i];
      num_wrong += location.number < 0 || location.number >= (location.is_slot ? allocation.num_slots : num_registers);
      for (std::size_t j = 0; j < i; ++j) {
        // One that ends where the other begins may share with it.
        const bool overlaps = ranges[j].last > ranges[i].first || ranges[j].first == ranges[i].first;
        num_wrong += overlaps && allocation.locations[j] == location;
      }
    }
    CHECK(num_wrong == 0);
  }
}

TEST_CASE("ranges spill only if registers run out, first those that end last") {
  const std::vector<LiveRange> ranges = {{0, 9}, {1, 4}, {2, 3}, {4, 5}};
  CHECK(allocate_registers(ranges, 3).num_slots == 0);
  const Allocation tight = allocate_registers(ranges, 2);
  CHECK(tight.num_slots == 1);
  CHECK(tight.locations[0].is_slot);
  // The third takes its register; the last, one of a range that has ended.
  CHECK(tight.locations[2] == ValueLocation{0, false});
  CHECK(tight.locations[3] == ValueLocation{0, false});
}

TEST_CASE("registers are taken in rotation") {
  const std::vector<LiveRange> ranges = {{0, 1}, {2, 3}, {4, 9}, {6, 7}, {8, 9}};
  const Allocation allocation = allocate_registers(ranges, 3);
  // The third range keeps its register.
  for (const auto& [range, number] : {std::pair{0, 0}, {1, 1}, {2, 2}, {3, 0}, {4, 1}}) {
    CHECK(allocation.locations[static_cast<std::size_t>(range)] == ValueLocation{number, false});
  }
}

}  // namespace
}  // namespace millrace
