// SPDX-License-Identifier: Apache-2.0
#include "hal/host/work_shares.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::vector<std::uint32_t> all_of(WorkShares& shares, std::uint32_t worker) {
  std::vector<std::uint32_t> units;
  while (const auto unit = shares.next(worker)) units.push_back(*unit);
  return units;
}

}  // namespace

TEST_CASE("shares: all units come once, whoever asks, however the shares are") {
  WorkShares shares(4);
  const std::vector<std::vector<std::uint32_t>> all_ends = {
      {0}, {1}, {7}, {3, 7}, {0, 7}, {7, 7}, {1, 2, 3}, {0, 0, 5}, {2, 2, 9, 100}, {25, 50, 75, 100}};
  for (const std::vector<std::uint32_t>& ends : all_ends) {
    const auto workers = static_cast<std::uint32_t>(ends.size());
    for (std::uint32_t pattern = 0; pattern < 4; ++pattern) {
      std::vector<int> seen(ends.back());
      shares.begin(ends);
      for (std::uint32_t turn = 0;; ++turn) {
        const auto unit = shares.next(pattern == 0 ? 0 : pattern == 1 ? workers - 1 : (turn * pattern) % workers);
        if (!unit) break;
        ++seen.at(*unit);
      }
      CHECK(std::ranges::count(seen, 1) == static_cast<std::ptrdiff_t>(seen.size()));
      for (std::uint32_t worker = 0; worker < workers; ++worker) CHECK(!shares.next(worker));
    }
  }
}

TEST_CASE("shares: a worker has its own share first, from the front, and then others', from their ends") {
  WorkShares shares(3);
  const std::uint32_t ends[] = {3, 5, 9};
  shares.begin(ends);
  CHECK(all_of(shares, 1) == std::vector<std::uint32_t>{3, 4, 8, 7, 6, 5, 2, 1, 0});
}

TEST_CASE("shares: threads that take at one time take each unit once") {
  WorkShares shares(3);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<int> seen(97);
    const std::uint32_t ends[] = {30, 60, 97};
    shares.begin(ends);
    std::vector<std::thread> threads;
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      threads.emplace_back([&, worker] {
        for (const std::uint32_t unit : all_of(shares, worker)) ++seen[unit];
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(std::ranges::count(seen, 1) == 97);
  }
}

TEST_CASE("failures: of several, the first in the work's order is kept, in whatever order they come") {
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
