// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/schedule.h"
#include "millrace/hal/buffer.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

/// A transient that is touched at two timepoints.
struct Life {
  std::int64_t bytes = 0;
  std::uint32_t first = 0, last = 0;
};

Schedule schedule_of(const std::vector<Life>& lives) {
  Schedule schedule;
  std::vector<Step> steps;
  for (const Life& life : lives) {
    const ResourceId id = schedule.resources.push_back({.name = "t", .size_bytes = life.bytes});
    for (const std::uint32_t timepoint : {life.first, life.last}) {
      Step step{.name = "touch", .kernel = {}, .region = {}, .sizes = {}, .uses = {{id, true}}};
      step.timepoint = timepoint;
      steps.push_back(std::move(step));
    }
  }
  std::ranges::sort(steps, {}, &Step::timepoint);
  for (Step& step : steps) schedule.steps.push_back(std::move(step));
  return schedule;
}

std::int64_t aligned(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = Buffer::kAlignment;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// No packing needs less than what lives at one timepoint.
std::int64_t most_live_bytes(const std::vector<Life>& lives, std::uint32_t timepoints) {
  std::int64_t most = 0;
  for (std::uint32_t t = 0; t < timepoints; ++t) {
    std::int64_t live = 0;
    for (const Life& life : lives) live += life.first <= t && t <= life.last ? aligned(life.bytes) : 0;
    most = std::max(most, live);
  }
  return most;
}

std::vector<Life> random_lives(std::mt19937& random, std::uint32_t timepoints) {
  std::vector<Life> lives(1 + random() % 40);
  for (Life& life : lives) {
    life.bytes = static_cast<std::int64_t>(random() % (random() % 4 == 0 ? 100'000 : 1'000));
    life.first = static_cast<std::uint32_t>(random() % timepoints);
    life.last = std::min(timepoints - 1, life.first + static_cast<std::uint32_t>(random() % 6));
  }
  return lives;
}

void check_placement(const Schedule& schedule) {
  const std::int64_t slab = schedule.slab_bytes.constant();
  for (const Resource& a : schedule.resources) {
    const std::int64_t a_begin = a.offset_bytes.constant(), a_end = a_begin + a.size_bytes.constant();
    CHECK(a_begin % static_cast<std::int64_t>(Buffer::kAlignment) == 0);
    CHECK(a_end <= slab);
    for (const Resource& b : schedule.resources) {
      if (&a == &b || a.first_timepoint > b.last_timepoint || b.first_timepoint > a.last_timepoint) continue;
      const std::int64_t b_begin = b.offset_bytes.constant(), b_end = b_begin + b.size_bytes.constant();
      CHECK((a_end <= b_begin || b_end <= a_begin || a_begin == a_end || b_begin == b_end));
    }
  }
}

TEST_CASE("transients that live together never overlap, and the slab is near what lives at once") {
  constexpr int kSchedules = 500;
  std::mt19937 random(7);
  double sum_of_ratios = 0;
  for (int i = 0; i < kSchedules; ++i) {
    CAPTURE(i);
    const std::uint32_t timepoints = 1 + random() % 30;
    const std::vector<Life> lives = random_lives(random, timepoints);
    Schedule schedule = schedule_of(lives);
    REQUIRE(pack_transients(schedule).ok());
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < lives.size(); ++k) {
      const Resource& resource = schedule.resources[ResourceId(k)];
      CHECK(resource.first_timepoint == lives[k].first);
      CHECK(resource.last_timepoint == lives[k].last);
      sum += aligned(lives[k].bytes);
    }
    check_placement(schedule);
    const std::int64_t slab = schedule.slab_bytes.constant(), least = most_live_bytes(lives, timepoints);
    CHECK(slab <= sum);
    CHECK(slab >= least);
    sum_of_ratios += least == 0 ? 1 : static_cast<double>(slab) / static_cast<double>(least);
  }
  CHECK(sum_of_ratios / kSchedules < 1.5);
}

/// Largest first, each at the lowest offset that is free, by comparing each with every one before it.
std::vector<std::int64_t> pack_one_by_one(const std::vector<Life>& lives) {
  std::vector<std::size_t> order(lives.size()), placed;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(-lives[i].bytes, i); });  // the largest first
  std::vector<std::int64_t> offsets(lives.size());
  for (const std::size_t i : order) {
    std::ranges::sort(placed, {}, [&](std::size_t other) { return offsets[other]; });
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      if (lives[i].first > lives[other].last || lives[other].first > lives[i].last) continue;
      if (offset + aligned(lives[i].bytes) <= offsets[other]) break;
      offset = std::max(offset, offsets[other] + aligned(lives[other].bytes));
    }
    offsets[i] = offset;
    placed.push_back(i);
  }
  return offsets;
}

TEST_CASE("every transient is where comparing it with all others would put it") {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const std::vector<Life> lives = random_lives(random, 1 + random() % 70);
    Schedule schedule = schedule_of(lives);
    REQUIRE(pack_transients(schedule).ok());
    const std::vector<std::int64_t> expected = pack_one_by_one(lives);
    for (std::size_t k = 0; k < lives.size(); ++k) {
      CHECK(schedule.resources[ResourceId(k)].offset_bytes == SizeExpr(expected[k]));
    }
  }
}

TEST_CASE("a chain of equal transients needs room for two") {
  std::vector<Life> chain;
  for (std::uint32_t i = 0; i < 50; ++i) chain.push_back({1024, i, i + 1});
  Schedule schedule = schedule_of(chain);
  REQUIRE(pack_transients(schedule).ok());
  CHECK(schedule.slab_bytes == SizeExpr(2048));
}

TEST_CASE("a hole between two is filled before the slab grows") {
  Schedule schedule = schedule_of({{640, 0, 1}, {320, 1, 2}, {320, 2, 3}, {256, 3, 3}});
  REQUIRE(pack_transients(schedule).ok());
  CHECK(test::golden_problem("slab_with_hole.txt", memory_plan_text(schedule)) == "");
}

TEST_CASE("transients of sizes that a run binds stand behind the others and share slots when their lives do not meet") {
  const SizeExpr rows = Dim("rows").at_least(1), columns = Dim("columns");
  Schedule schedule = schedule_of({{100, 0, 0}, {0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {0, 3, 3}});
  schedule.resources[ResourceId{1}].size_bytes = rows * 4;
  schedule.resources[ResourceId{2}].size_bytes = columns * 4;
  schedule.resources[ResourceId{3}].size_bytes = rows * 4;
  schedule.resources[ResourceId{4}].size_bytes = rows * 8;
  REQUIRE(pack_transients(schedule).ok());
  CHECK(test::golden_problem("slab_of_run_sizes.txt", memory_plan_text(schedule)) == "");
}

TEST_CASE("inputs and outputs have no place in the slab, constants one of their own") {
  Schedule schedule = schedule_of({{100, 0, 0}});
  schedule.resources.push_back({.name = "x", .lifetime = Lifetime::kExternal, .size_bytes = 4096, .input = 0});
  for (const std::int64_t bytes : {1, 0, 65}) {
    schedule.resources.push_back({.name = "w", .lifetime = Lifetime::kConstant, .size_bytes = bytes});
  }
  REQUIRE(pack_transients(schedule).ok());
  CHECK(schedule.slab_bytes == SizeExpr(128));
  CHECK(schedule.constant_bytes == 192);
  CHECK(schedule.resources[ResourceId{2}].offset_bytes == SizeExpr(0));
  CHECK(schedule.resources[ResourceId{4}].offset_bytes == SizeExpr(64));
}

}  // namespace
}  // namespace millrace
