// SPDX-License-Identifier: Apache-2.0
#include "hal/host/work_shares.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

constexpr std::uint32_t kUnlimited = WorkShares::kUnlimited;

std::vector<UnitRange> pieces_of(WorkShares& shares, std::uint32_t worker) {
  std::vector<UnitRange> pieces;
  while (const auto piece = shares.next(worker)) pieces.push_back(*piece);
  return pieces;
}

}  // namespace

TEST_CASE("shares: each unit is taken once, whoever asks and however the work is divided") {
  WorkShares shares(4);
  const std::vector<std::vector<std::uint32_t>> all_ends = {
      {0}, {1}, {7}, {3, 7}, {0, 7}, {7, 7}, {1, 2, 3}, {0, 0, 5}, {2, 2, 9, 100}, {25, 50, 75, 100}, {600, 1200}};
  for (const std::vector<std::uint32_t>& ends : all_ends) {
    const auto workers = static_cast<std::uint32_t>(ends.size());
    for (const std::uint32_t max_units : {1u, 5u, kUnlimited}) {
      for (std::uint32_t pattern = 0; pattern < 4; ++pattern) {
        std::vector<int> seen(ends.back());
        shares.begin(ends, max_units);
        for (std::uint32_t iteration = 0;; ++iteration) {
          const auto units = shares.next(pattern == 0   ? 0
                                         : pattern == 1 ? workers - 1
                                                        : (iteration * pattern) % workers);
          if (!units) break;
          CHECK(units->first < units->end);
          CHECK(units->end - units->first <= max_units);
          for (std::uint32_t unit = units->first; unit < units->end; ++unit) ++seen.at(unit);
        }
        CHECK(std::ranges::count(seen, 1) == static_cast<std::ptrdiff_t>(seen.size()));
        for (std::uint32_t worker = 0; worker < workers; ++worker) CHECK(!shares.next(worker));
      }
    }
  }
}

TEST_CASE("shares: a worker takes its own share first, from the front, and then others', from their ends") {
  WorkShares shares(3);
  const std::uint32_t ends[] = {3, 5, 9};
  shares.begin(ends, 1);
  CHECK(pieces_of(shares, 1) ==
        std::vector<UnitRange>{{3, 4}, {4, 5}, {8, 9}, {7, 8}, {6, 7}, {5, 6}, {2, 3}, {1, 2}, {0, 1}});
}

TEST_CASE("shares: a piece is an eighth of what is left of a share, at least one unit, and no larger than allowed") {
  WorkShares shares(2);
  const std::uint32_t ends[] = {40, 80};
  shares.begin(ends, kUnlimited);
  CHECK(shares.next(0) == UnitRange{0, 5});    // of 40
  CHECK(shares.next(0) == UnitRange{5, 9});    // of 35
  CHECK(shares.next(1) == UnitRange{40, 45});  // of its own 40
  shares.begin(ends, 3);
  CHECK(shares.next(0) == UnitRange{0, 3});
  const std::uint32_t one_share[] = {0, 40};
  shares.begin(one_share, kUnlimited);
  CHECK(shares.next(0) == UnitRange{35, 40});  // the other's, from its end
  const std::vector<UnitRange> rest = pieces_of(shares, 0);
  for (std::size_t i = 1; i < rest.size(); ++i) {
    CHECK(rest[i].end - rest[i].first <= rest[i - 1].end - rest[i - 1].first);
  }
  CHECK(rest.back() == UnitRange{0, 1});
}

TEST_CASE("shares: concurrent threads take each unit once") {
  WorkShares shares(3);
  for (int iteration = 0; iteration < 200; ++iteration) {
    std::vector<int> seen(97);
    const std::uint32_t ends[] = {30, 60, 97};
    shares.begin(ends, iteration % 2 == 0 ? 1 : kUnlimited);
    std::vector<std::thread> threads;
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      threads.emplace_back([&, worker] {
        for (const UnitRange& piece : pieces_of(shares, worker)) {
          for (std::uint32_t unit = piece.first; unit < piece.end; ++unit) ++seen[unit];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(std::ranges::count(seen, 1) == 97);
  }
}

TEST_CASE("failures: the first in the work's order is kept, in whatever order they are reported") {
  WorkFailure none;
  CHECK(!none.is_before(WorkFailure::kNone - 1));
  CHECK(none.first() == WorkFailure::kNone);
  CHECK(none.take().ok());
  for (const bool from_front : {false, true}) {
    WorkFailure failure;
    for (const std::uint64_t place : from_front ? std::vector{3u, 5u, 9u} : std::vector{9u, 3u, 5u}) {
      failure.note(place, internal_error("place " + std::to_string(place)));
    }
    CHECK(failure.first() == 3);
    CHECK(!failure.is_before(2));
    CHECK(failure.is_before(3));
    CHECK(failure.is_before(4));
    CHECK(failure.take().message() == "place 3");
  }
}

TEST_CASE("failures: an exception is thrown on, unless something before it failed otherwise") {
  const auto thrown = std::make_exception_ptr(std::runtime_error("thrown"));
  WorkFailure first;
  first.note(7, internal_error("place 7"));
  first.note(2, thrown);
  CHECK_THROWS_WITH_AS((void)first.take(), "thrown", std::runtime_error);
  WorkFailure other;
  other.note(7, thrown);
  other.note(2, internal_error("place 2"));
  CHECK(other.take().message() == "place 2");
}

}  // namespace millrace
