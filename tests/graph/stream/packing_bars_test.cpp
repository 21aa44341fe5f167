// SPDX-License-Identifier: Apache-2.0
// How near the slab comes to the largest live set, the lower bound of every packing.
#include <algorithm>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/schedule_statistics.h"
#include "millrace/jit/kernel_compiler.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/graphs/squeezenet.h"
#include "tests/support/random/random_graph.h"
#include "tests/support/random/random_network.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

Schedule schedule_of(const Graph& graph, std::uint64_t number) {
  constexpr ScheduleOrder kOrders[] = {ScheduleOrder::kMinPeak, ScheduleOrder::kMaxConcurrency};
  const Target target = test::test_context()->target(number % 3 == 0 ? "sim:gfx1100" : "cpu:baseline").value();
  Result<LoweredGraph> lowered = lower_graph(graph, target, {}, {}, kOrders[number % 2]);
  REQUIRE_MESSAGE(lowered.ok(), lowered.status().message());
  return std::move(lowered->schedule);
}

double ratio(const Schedule& schedule, const SymbolValues& values) {
  const ScheduleStatistics found = measure_schedule(schedule, values);
  REQUIRE(found.peak_bytes.has_value());
  REQUIRE(*found.peak_bytes >= *found.lower_bound_bytes);
  if (*found.lower_bound_bytes == 0) return 1;
  return static_cast<double>(*found.peak_bytes) / static_cast<double>(*found.lower_bound_bytes);
}

bool has_choices(const Schedule& schedule) {
  return std::ranges::count(schedule.resources, Lifetime::kTransient, &Resource::lifetime) >= 3;
}

struct Ratios {
  std::vector<double> sorted;

  explicit Ratios(std::vector<double> all) : sorted(std::move(all)) { std::ranges::sort(sorted); }
  double mean() const {
    return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  }
  double percentile(std::size_t percent) const { return sorted[(sorted.size() - 1) * percent / 100]; }
};

TEST_CASE("static slabs are within 2 % of the largest live set on average, and 95 of 100 within 8 %") {
  std::vector<double> ratios;
  const auto add = [&](const Graph& graph, std::uint64_t number) {
    const Schedule schedule = schedule_of(graph, number);
    if (has_choices(schedule)) ratios.push_back(ratio(schedule, {}));
  };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) add(test::make_random_network(seed, false), seed);
  for (std::uint64_t seed = 1; seed <= test::kTestedGraphs; ++seed) {
    const test::RandomGraph random = test::make_random_graph(seed);
    add(random.bindings.empty() ? random.graph : bind_graph(random.graph, random.bindings.back()), seed);
  }
  add(build_squeezenet(1), 0);
  const Ratios all(std::move(ratios));
  MESSAGE(all.sorted.size(), " schedules with 3 or more transients: mean ", all.mean(), ", 95th percentile ",
          all.percentile(95), ", worst ", all.sorted.back());
  CHECK(all.sorted.size() >= 200);
  CHECK(all.mean() <= 1.02);
  CHECK(all.percentile(95) <= 1.08);
}

TEST_CASE("slabs of sizes that a run binds are within 5 % on average, and all within 30 %" * test::Sliced()) {
  constexpr int kBindings = 20;
  std::vector<double> ratios;
  int num_schedules = 0;
  const auto add = [&](const Graph& graph, std::uint64_t number, const std::vector<SymbolValues>& bindings) {
    const Schedule schedule = schedule_of(graph, number);
    if (!has_choices(schedule) || !schedule.is_placed_by_runs()) return;
    ++num_schedules;
    for (const SymbolValues& values : bindings) ratios.push_back(ratio(schedule, values));
  };
  for (std::uint64_t seed = 1; seed <= 320; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<SymbolValues> bindings(kBindings);
    // From 1 to 4096, each order of magnitude as often.
    for (SymbolValues& values : bindings) {
      for (const char* name : {"n", "m"}) {
        const std::uint64_t end = std::uint64_t{1} << random() % 13;
        values[name] = 1 + static_cast<std::int64_t>(random() % end);
      }
    }
    add(test::make_random_network(seed, true), seed, bindings);
  }
  CHECK(num_schedules >= 200);
  for (std::uint64_t seed = 1; seed <= test::kTestedGraphs; ++seed) {
    const test::RandomGraph random = test::make_random_graph(seed);
    add(random.graph, seed, random.bindings);
  }
  const Ratios all(std::move(ratios));
  MESSAGE(num_schedules, " schedules, ", all.sorted.size(), " bindings: mean ", all.mean(), ", 95th percentile ",
          all.percentile(95), ", worst ", all.sorted.back());
  CHECK(all.mean() <= 1.05);
  CHECK(all.sorted.back() <= 1.3);
}

}  // namespace
}  // namespace millrace
