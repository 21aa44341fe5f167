// SPDX-License-Identifier: Apache-2.0
#include "hal/host/group_shares.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::vector<GroupRange> all_of(GroupShares& shares, std::uint32_t worker) {
  std::vector<GroupRange> ranges;
  while (const auto range = shares.next(worker)) ranges.push_back(*range);
  return ranges;
}

constexpr std::uint32_t kMost = 0xffff'ffff;

}  // namespace

TEST_CASE("shares: all groups come once, in ranges that are not empty, whoever asks") {
  GroupShares shares(8);
  for (const std::uint32_t size : {1u, 2u, 3u, 7u, 8u, 9u, 100u, 1023u, 5000u}) {
    for (const std::uint32_t workers : {1u, 2u, 3u, 8u}) {
      for (std::uint32_t pattern = 0; pattern < 4; ++pattern) {
        std::vector<int> seen(size);
        shares.begin({10, 10 + size}, workers);
        for (std::uint32_t turn = 0;; ++turn) {
          const auto range = shares.next(pattern == 0 ? 0 : pattern == 1 ? workers - 1 : (turn * pattern) % workers);
          if (!range) break;
          CHECK(range->first < range->end);
          for (std::uint32_t group = range->first; group < range->end; ++group) ++seen.at(group - 10);
        }
        CHECK(std::ranges::count(seen, 1) == static_cast<std::ptrdiff_t>(size));
        for (std::uint32_t worker = 0; worker < workers; ++worker) CHECK(!shares.next(worker));
      }
    }
  }
}

TEST_CASE("shares: a worker has its own contiguous share first, from the front, and then others', from their ends") {
  GroupShares shares(2);
  shares.begin({0, 64}, 2);
  std::vector<std::uint32_t> firsts;
  for (const GroupRange& range : all_of(shares, 1)) {
    CHECK(range.size() == 2);
    firsts.push_back(range.first);
  }
  std::vector<std::uint32_t> expected;
  for (std::uint32_t group = 32; group < 64; group += 2) expected.push_back(group);
  for (std::uint32_t group = 32; group > 0; group -= 2) expected.push_back(group - 2);
  CHECK(firsts == expected);
}

TEST_CASE("shares: as many groups as workers are one each") {
  GroupShares shares(8);
  shares.begin({0, 8}, 8);
  for (std::uint32_t worker = 0; worker < 8; ++worker) CHECK(shares.next(worker)->first == worker);
}

TEST_CASE("shares: many groups are shared out in sixteens, so that neighbours stay together") {
  GroupShares shares(3);
  shares.begin({0, 10'007}, 3);
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    const auto range = shares.next(worker);
    CHECK(range->first % 16 == 0);
    CHECK(range->size() % 16 == 0);
  }
}

TEST_CASE("shares: the most groups that there can be") {
  GroupShares shares(3);
  for (const std::uint32_t workers : {1u, 2u, 3u}) {
    shares.begin({0, kMost}, workers);
    std::uint64_t sum = 0;
    for (const GroupRange& range : all_of(shares, workers - 1)) sum += range.size();
    CHECK(sum == kMost);
  }
}

TEST_CASE("shares: threads that take at one time take each group once") {
  GroupShares shares(3);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<int> seen(97);
    shares.begin({0, 97}, 3);
    std::vector<std::thread> threads;
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      threads.emplace_back([&, worker] {
        for (const GroupRange& range : all_of(shares, worker)) {
          for (std::uint32_t group = range.first; group < range.end; ++group) ++seen[group];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(std::ranges::count(seen, 1) == 97);
  }
}

TEST_CASE("failures: of several, the one of the lowest groups is kept, in whatever order they come") {
  GroupFailure none;
  CHECK(!none.is_before(0xffff'ffff));
  CHECK(none.take().ok());
  for (const bool from_front : {false, true}) {
    GroupFailure failure;
    for (const std::uint32_t group : from_front ? std::vector{3u, 5u, 9u} : std::vector{9u, 3u, 5u}) {
      failure.note(group, internal_error("group " + std::to_string(group)));
    }
    CHECK(!failure.is_before(2));
    CHECK(failure.is_before(3));
    CHECK(failure.is_before(4));
    CHECK(failure.take().message() == "group 3");
  }
}

TEST_CASE("failures: an exception is thrown on, unless lower groups failed otherwise") {
  const auto thrown = std::make_exception_ptr(std::runtime_error("thrown"));
  GroupFailure lowest;
  lowest.note(7, internal_error("group 7"));
  lowest.note(2, thrown);
  CHECK_THROWS_WITH_AS((void)lowest.take(), "thrown", std::runtime_error);
  GroupFailure other;
  other.note(7, thrown);
  other.note(2, internal_error("group 2"));
  CHECK(other.take().message() == "group 2");
}

}  // namespace millrace
