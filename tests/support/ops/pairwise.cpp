// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/pairwise.h"

#include <algorithm>
#include <set>
#include <utility>

namespace millrace::test {
namespace {

struct Choice {
  std::size_t place = 0, value = 0;
  auto operator<=>(const Choice&) const = default;
};
using Pairs = std::set<std::pair<Choice, Choice>>;  // the lower place first

Pairs all_pairs(std::span<const std::size_t> counts) {
  Pairs pairs;
  for (std::size_t a = 0; a < counts.size(); ++a) {
    for (std::size_t b = a + 1; b < counts.size(); ++b) {
      for (std::size_t i = 0; i < counts[a] * counts[b]; ++i) pairs.insert({{a, i / counts[b]}, {b, i % counts[b]}});
    }
  }
  return pairs;
}

/// How many pairs of `missing` the choice makes with those of the row.
std::size_t num_met(const Pairs& missing, const std::vector<Choice>& row, const Choice& choice) {
  std::size_t met = 0;
  for (const Choice& other : row) met += missing.count(std::minmax(other, choice));
  return met;
}

}  // namespace

std::vector<std::vector<std::size_t>> pairwise_rows(std::span<const std::size_t> counts) {
  std::vector<std::vector<std::size_t>> rows;
  for (Pairs missing = all_pairs(counts); !missing.empty();) {
    // A missing pair, and for each other place the choice that completes the maximum number of missing pairs.
    const auto [first, second] = *missing.begin();
    std::vector<Choice> row = {first, second};
    for (std::size_t place = 0; place < counts.size(); ++place) {
      if (place == first.place || place == second.place) continue;
      Choice best;
      std::size_t max_met = 0;
      for (std::size_t i = 0; i < counts[place]; ++i) {
        const Choice choice{place, (rows.size() + i) % counts[place]};
        const std::size_t met = num_met(missing, row, choice);
        if (i == 0 || met > max_met) best = choice, max_met = met;
      }
      row.push_back(best);
    }
    std::vector<std::size_t> values(counts.size());
    for (const Choice& a : row) {
      values[a.place] = a.value;
      for (const Choice& b : row) missing.erase(std::minmax(a, b));
    }
    rows.push_back(std::move(values));
  }
  return rows;
}

}  // namespace millrace::test
