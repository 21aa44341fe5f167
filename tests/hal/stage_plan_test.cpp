// SPDX-License-Identifier: Apache-2.0
#include "hal/host/stage_plan.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

struct Step {
  GroupRange groups;
  double ns_per_group;
};

StagePlan plan_of(const std::vector<Step>& steps, std::uint32_t max_workers) {
  StagePlan plan(static_cast<std::uint32_t>(steps.size()), max_workers);
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    plan.add({.step = i, .groups = steps[i].groups, .ns_per_group = steps[i].ns_per_group});
  }
  return plan;
}

/// What the share of each worker costs, if nobody takes from another.
std::vector<double> share_costs(StagePlan& plan, std::uint32_t num_workers) {
  std::vector<double> costs;
  std::uint32_t unit = 0;
  for (const std::uint32_t end : plan.cut(num_workers)) {
    costs.push_back(0);
    for (UnitRange units{unit, end}; units.first < units.end;) {
      const auto [part, groups] = plan.next_piece(units);
      costs.back() += groups.size() * part.ns_per_group;
    }
    unit = end;
  }
  return costs;
}

GroupRange groups_of(StagePlan& plan, std::uint32_t unit) {
  UnitRange units{unit, unit + 1};
  return plan.next_piece(units).groups;
}

constexpr std::uint32_t kMaxGroups = 0xffff'ffff;

}  // namespace

TEST_CASE("plan: units are in the steps' order and contain each group once") {
  const std::vector<std::vector<Step>> stages = {{{{0, 1}, 5}},
                                                 {{{10, 17}, 0}},
                                                 {{{0, 1}, 1}, {{0, 1}, 1}},
                                                 {{{0, 3}, 1e6}, {{5, 5}, 1}, {{7, 4000}, 1}},
                                                 {{{4, 4}, 1}, {{0, 100}, 1}, {{0, 2}, 0}},
                                                 {{{0, kMaxGroups}, 0.1}, {{0, kMaxGroups}, 1e9}, {{0, 1}, 1}},
                                                 std::vector<Step>(500, Step{{0, 1}, 1})};
  for (const std::vector<Step>& steps : stages) {
    for (const std::uint32_t workers : {1u, 2u, 3u, 8u, 64u}) {
      StagePlan plan = plan_of(steps, 64);
      const std::span<const std::uint32_t> ends = plan.cut(workers);
      REQUIRE(ends.size() == workers);
      CHECK(std::is_sorted(ends.begin(), ends.end()));
      for (const std::uint32_t together : {1u, 3u, ends.back()}) {
        std::vector<std::uint32_t> next;
        for (const Step& step : steps) next.push_back(step.groups.first);
        std::uint32_t last_step = 0;
        for (UnitRange units{0, 0}; units.first < ends.back();) {
          if (units.first == units.end) units.end = std::min(units.first + together, ends.back());
          const auto [part, groups] = plan.next_piece(units);
          CHECK(part.step >= last_step);
          CHECK(groups.first == next[part.step]);
          CHECK(groups.end >= groups.first);
          next[part.step] = groups.end;
          last_step = part.step;
        }
        for (std::size_t i = 0; i < steps.size(); ++i) CHECK(next[i] == steps[i].groups.end);
      }
    }
  }
}

TEST_CASE("plan: shares have about the same cost, whatever the steps are") {
  struct Case {
    std::vector<Step> steps;
    std::uint32_t workers;
    double max_share;  // of one share, in parts of the whole
  };
  const Case cases[] = {{{{{0, 1}, 5}, {{0, 1}, 5}}, 2, 0.5},
                        {{{{0, 1}, 5}, {{0, 1}, 5}, {{0, 1}, 5}}, 3, 0.34},
                        {{{{0, 2}, 100}, {{0, 10'000}, 0.01}}, 2, 0.67},
                        {{{{0, 10'000}, 0.03}, {{0, 1}, 100}}, 2, 0.5 + 1.0 / 16},
                        {{{{0, 64}, 10}, {{0, 4096}, 1}, {{0, 1000}, 2}}, 2, 0.5 + 1.0 / 16},
                        {{{{0, 64}, 10}, {{0, 4096}, 1}, {{0, 1000}, 2}}, 4, 0.25 + 1.0 / 32},
                        {{{{0, 100}, 0}, {{0, 100}, 0}, {{0, 1}, 1}}, 2, 1}};
  for (const Case& each : cases) {
    StagePlan plan = plan_of(each.steps, 8);
    for (const double share : share_costs(plan, each.workers)) CHECK(share <= each.max_share * plan.ns());
  }
}

TEST_CASE("plan: if there are as many groups as workers, each worker gets one, even if their cost is unknown") {
  for (std::uint32_t workers = 1; workers <= 64; ++workers) {
    for (const double ns : {0.0, 0.1, 7e5}) {
      StagePlan plan = plan_of({{{0, workers}, ns}}, 64);
      const std::span<const std::uint32_t> ends = plan.cut(workers);
      for (std::uint32_t i = 0; i < workers; ++i) CHECK(ends[i] == i + 1);
    }
  }
}

TEST_CASE("plan: many groups are cut at multiples of 16, so that neighbours stay together, but few are not") {
  StagePlan many = plan_of({{{0, 10'007}, 1}}, 3);
  std::uint32_t num_units = many.cut(3).back();
  CHECK(num_units == 48);
  for (std::uint32_t unit = 0; unit < num_units; ++unit) {
    CHECK(groups_of(many, unit).first % 16 == 0);
  }
  StagePlan few = plan_of({{{0, 96}, 1}}, 3);
  num_units = few.cut(3).back();
  CHECK(num_units == 48);
  for (std::uint32_t unit = 0; unit < num_units; ++unit) {
    CHECK(groups_of(few, unit).size() == 2);
  }
}

TEST_CASE(
    "plan: units of a long stage take at most 20 us, and pieces 200 us, as far as groups and multiples of 16 allow") {
  struct Case {
    std::vector<Step> steps;
    std::uint32_t num_units, max_units;
  };
  const Case cases[] = {
      {{{{0, 1'000'000}, 10}}, 500, 10},                    // 10 ms of 2,000 groups a unit
      {{{{0, 1'000'000}, 0.1}}, 32, 63},                    // 100 us: 3 us a unit
      {{{{0, 100}, 300'000}}, 100, 1},                      // one group takes longer than a piece may
      {{{{0, 100}, 50'000}}, 100, 4},                       // more than a unit, less than a piece
      {{{{0, 912}, 12'000}}, 56, 1},                        // sixteens: 57, made even for two workers
      {{{{0, 1'000'000}, 10}, {{0, 8}, 300'000}}, 508, 1},  // the longest unit sets the limit
      {{{{0, 64}, 0}}, 32, 100'000'000},                    // nothing is known
  };
  for (const Case& each : cases) {
    StagePlan plan = plan_of(each.steps, 2);
    CHECK(plan.cut(2).back() == each.num_units);
    CHECK(plan.max_units() == each.max_units);
  }
}

TEST_CASE("plan: it is built anew after clear(), and sums the cost that is still to run") {
  StagePlan plan = plan_of({{{0, 10}, 3}, {{0, 4}, 0.5}}, 2);
  CHECK(plan.ns() == 32);
  CHECK(plan.num_groups() == 14);
  plan.parts()[0].groups.first = 9;
  CHECK(plan.ns() == 5);
  CHECK(plan.num_groups() == 5);
  plan.clear();
  CHECK(plan.parts().empty());
  CHECK(plan.ns() == 0);
  plan.add({.step = 7, .groups = {0, 2}, .ns_per_group = 1});
  CHECK(plan.cut(2).back() == 2);
  UnitRange units{1, 2};
  CHECK(plan.next_piece(units).part.step == 7);
}

}  // namespace millrace
