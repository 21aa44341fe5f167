// SPDX-License-Identifier: Apache-2.0
#include "isa/bank_conflicts.h"

#include <array>
#include <random>
#include <set>

#include <doctest/doctest.h>

namespace millrace::isa::test {
namespace {

using Addresses = std::array<std::uint64_t, kMaxLanes>;

/// The longest list of words that a bank has to serve, less the cycles that as many words take at best.
std::uint64_t expected_cycles(const Addresses* places, std::size_t num_places, std::uint64_t lanes,
                              std::uint32_t num_bytes, bool is_shared) {
  std::array<std::multiset<std::uint64_t>, 32> banks;
  for (std::size_t place = 0; place < num_places; ++place) {
    for (std::uint32_t lane = 0; lane < kMaxLanes; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      const std::uint64_t first = places[place][lane] / 4, last = (places[place][lane] + num_bytes - 1) / 4;
      for (std::uint64_t word = first; word <= last; ++word) {
        if (!is_shared || !banks[word % 32].contains(word)) banks[word % 32].insert(word);
      }
    }
  }
  std::uint64_t max_words = 0, all = 0;
  for (const auto& words : banks) max_words = std::max<std::uint64_t>(max_words, words.size()), all += words.size();
  return max_words - (all + 31) / 32;
}

TEST_CASE("bank conflicts of instructions that run again and again are those of each execution") {
  std::mt19937_64 random(1);
  BankConflictMemo memo;
  std::array<Instruction, 3> instructions;
  for (std::uint32_t i = 0; i < 3; ++i) instructions[i].address = 512 * i;  // one entry of the memo
  constexpr std::uint32_t kBytes[] = {4, 8, 2};
  std::array<Addresses, 2> places = {};
  std::uint64_t lanes = ~std::uint64_t{0};
  int num_conflicts = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::size_t number = trial / 7 % 3;
    switch (random() % 6) {
      case 0:  // anywhere
        for (Addresses& addresses : places) {
          for (auto& address : addresses) address = random() % 4096;
        }
        break;
      case 1:  // in steps
        for (Addresses& addresses : places) {
          const std::uint64_t step = random() % 40;
          for (std::uint32_t lane = 0; lane < kMaxLanes; ++lane) addresses[lane] = step * lane;
        }
        break;
      case 2:
        lanes = random() % 2 == 0 ? ~std::uint64_t{0} : random();
        break;
      case 3:  // one lane elsewhere
        places[random() % 2][random() % kMaxLanes] += 4;
        break;
      default:  // all lanes further on
        const std::uint64_t distance = random() % 65;
        for (Addresses& addresses : places) {
          for (auto& address : addresses) address += distance;
        }
    }
    Lanes<std::uint64_t> first, second;
    std::ranges::copy(places[0], first.values);
    std::ranges::copy(places[1], second.values);
    const bool has_two = number == 1, is_shared = number != 2;
    const std::uint64_t expected = expected_cycles(places.data(), has_two ? 2 : 1, lanes, kBytes[number], is_shared);
    CHECK(memo.extra_cycles(instructions[number], lanes, first, has_two ? &second : nullptr, kBytes[number],
                            is_shared) == expected);
    num_conflicts += expected != 0;
  }
  CHECK(num_conflicts > 1000);
}

}  // namespace
}  // namespace millrace::isa::test
