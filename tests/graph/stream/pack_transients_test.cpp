// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <tuple>

#include <doctest/doctest.h>

#include "graph/run/slab_plan.h"
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

/// No packing needs less memory than the values that live at one timepoint.
std::int64_t max_live_bytes(const std::vector<Life>& lives, std::uint32_t timepoints) {
  std::int64_t peak = 0;
  for (std::uint32_t t = 0; t < timepoints; ++t) {
    std::int64_t live = 0;
    for (const Life& life : lives) live += life.first <= t && t <= life.last ? aligned(life.bytes) : 0;
    peak = std::max(peak, live);
  }
  return peak;
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

TEST_CASE("transients that live together never overlap, and the slab is near the largest live set") {
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
    const std::int64_t slab = schedule.slab_bytes.constant(), min_bytes = max_live_bytes(lives, timepoints);
    CHECK(slab <= sum);
    CHECK(slab >= min_bytes);
    sum_of_ratios += min_bytes == 0 ? 1 : static_cast<double>(slab) / static_cast<double>(min_bytes);
  }
  CHECK(sum_of_ratios / kSchedules < 1.02);
}

using Offsets = std::vector<std::int64_t>;

/// Those that come first in `order`, each at the lowest offset that is free, by comparing each with every one before
/// it.
Offsets pack_one_by_one(const std::vector<Life>& lives, std::vector<std::size_t> order) {
  std::vector<std::size_t> placed;
  Offsets offsets(lives.size());
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

std::int64_t end_of(const std::vector<Life>& lives, const Offsets& offsets) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < lives.size(); ++i) end = std::max(end, offsets[i] + aligned(lives[i].bytes));
  return end;
}

std::int64_t max_live_bytes(const std::vector<Life>& lives) { return max_live_bytes(lives, 100); }

/// The best of four orders: by size, by size times length of life, by length of life, by its beginning. Then the best
/// one is repaired 24 times: what ends last is placed first.
Offsets best_offsets(const std::vector<Life>& lives) {
  const std::function<std::int64_t(const Life&)> weights[] = {
      [](const Life& life) { return aligned(life.bytes); },
      [](const Life& life) { return aligned(life.bytes) * (life.last - life.first + 1); },
      [](const Life& life) { return std::int64_t{life.last} - life.first; },
      [](const Life& life) { return -std::int64_t{life.first}; }};
  Offsets best;
  std::vector<std::size_t> best_order;
  for (const auto& weight : weights) {
    std::vector<std::size_t> order(lives.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::tuple(-weight(lives[i]), -aligned(lives[i].bytes), i); });
    Offsets offsets = pack_one_by_one(lives, order);
    if (!best.empty() && end_of(lives, offsets) >= end_of(lives, best)) continue;
    best = std::move(offsets);
    best_order = order;
    if (end_of(lives, best) == max_live_bytes(lives)) return best;
  }
  Offsets last = best;
  for (int i = 0; i < 24 && end_of(lives, best) > max_live_bytes(lives); ++i) {
    const auto end = [&](std::size_t k) { return last[k] + aligned(lives[k].bytes); };
    const auto top = std::ranges::max_element(best_order, {}, end);
    std::rotate(best_order.begin(), top, top + 1);
    last = pack_one_by_one(lives, best_order);
    if (end_of(lives, last) < end_of(lives, best)) best = last;
  }
  return best;
}

TEST_CASE("every transient is where a comparison with all others would put it, in schedules and in runs") {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const std::vector<Life> lives = random_lives(random, 1 + random() % 70);
    Schedule schedule = schedule_of(lives);
    REQUIRE(pack_transients(schedule).ok());
    const Offsets expected = best_offsets(lives);
    std::vector<Lifespan> spans;
    std::vector<std::int64_t> bytes;
    for (std::size_t k = 0; k < lives.size(); ++k) {
      CHECK(schedule.resources[ResourceId(k)].offset_bytes == SizeExpr(expected[k]));
      spans.push_back({lives[k].first, lives[k].last});
      bytes.push_back(aligned(lives[k].bytes));
    }
    SlabPacker packer = SlabPacker::create(spans).value();
    CHECK(packer.pack(bytes) == end_of(lives, expected));
    for (std::size_t k = 0; k < lives.size(); ++k) {
      if (bytes[k] > 0) CHECK(packer.offsets()[k] == expected[k]);
    }
  }
}

TEST_CASE("a placement with a mistake is refused when a run is bound, unless nothing is shared") {
  std::mt19937 random(5);
  int num_refused = 0, num_accepted = 0;
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const std::vector<Life> lives = random_lives(random, 1 + random() % 30);
    std::vector<Lifespan> spans;
    std::vector<std::int64_t> bytes;
    for (const Life& life : lives) {
      spans.push_back({life.first, life.last});
      bytes.push_back(aligned(life.bytes));
    }
    SlabPacker packer = SlabPacker::create(spans).value();
    const std::int64_t slab = packer.pack(bytes);
    PlacementCheck check(spans);
    REQUIRE(check.run(bytes, packer.offsets(), slab).message() == "");
    Offsets offsets(packer.offsets().begin(), packer.offsets().end());
    const std::size_t moved = random() % offsets.size();
    offsets[moved] =
        random() % 2 == 0 ? offsets[random() % offsets.size()] : offsets[moved] + 64 - 128 * (random() % 2);
    bool is_wrong = offsets[moved] < 0 || offsets[moved] + bytes[moved] > slab;
    for (std::size_t k = 0; k < lives.size(); ++k) {
      if (k == moved || !spans[k].meets(spans[moved])) continue;
      is_wrong |= std::max(offsets[k], offsets[moved]) < std::min(offsets[k] + bytes[k], offsets[moved] + bytes[moved]);
    }
    CHECK(check.run(bytes, offsets, slab).ok() == !is_wrong);
    ++(is_wrong ? num_refused : num_accepted);
  }
  CHECK(num_refused > 100);
  CHECK(num_accepted > 20);
}

TEST_CASE("a placement that is refused names the transients") {
  const std::vector<Lifespan> spans = {{0, 2}, {1, 3}, {3, 4}};
  PlacementCheck check(spans);
  const std::vector<std::int64_t> bytes = {64, 128, 64};
  const auto message = [&](const Offsets& offsets, std::int64_t slab) {
    return check.run(bytes, offsets, slab).message();
  };
  CHECK(message({0, 64, 0}, 192) == "");
  CHECK(message({0, 0, 128}, 192) == "slab: transients 0 and 1 both live at @1 and share bytes; place them apart");
  CHECK(message({0, 64, 128}, 192) == "slab: transients 1 and 2 both live at @3 and share bytes; place them apart");
  CHECK(message({0, 64, 0}, 191) == "slab: transient 1 has bytes [64, 192), expected them inside 191");
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

TEST_CASE("transients of sizes that a run binds come after the others and share slots if their lives do not meet") {
  const SizeExpr rows = Dim("rows").at_least(1), columns = Dim("columns");
  Schedule schedule = schedule_of({{100, 0, 0}, {0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {0, 3, 3}});
  schedule.resources[ResourceId{1}].size_bytes = rows * 4;
  schedule.resources[ResourceId{2}].size_bytes = columns * 4;
  schedule.resources[ResourceId{3}].size_bytes = rows * 4;
  schedule.resources[ResourceId{4}].size_bytes = rows * 8;
  REQUIRE(pack_transients(schedule).ok());
  CHECK(test::golden_problem("slab_of_run_sizes.txt", memory_plan_text(schedule)) == "");
}

TEST_CASE("inputs and outputs have no place in the slab, constants have their own") {
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
