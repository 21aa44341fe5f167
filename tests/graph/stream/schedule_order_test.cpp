// SPDX-License-Identifier: Apache-2.0
// The three orders of one graph.
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/schedule_statistics.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/random/random_graph.h"
#include "tests/support/random/random_network.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

constexpr ScheduleOrder kOrders[] = {ScheduleOrder::kStrict, ScheduleOrder::kMinPeak, ScheduleOrder::kMaxConcurrency};

Schedule schedule_of(const Graph& graph, ScheduleOrder order, std::string_view target = "cpu:baseline") {
  Result<LoweredGraph> lowered = lower_graph(graph, test::test_context()->target(target).value(), {}, {}, order);
  REQUIRE_MESSAGE(lowered.ok(), lowered.status().message());
  REQUIRE(verify(lowered->schedule).message() == "");
  return std::move(lowered->schedule);
}

TEST_CASE("orders are parsed from the texts that they print") {
  for (const ScheduleOrder order : kOrders) CHECK(parse_schedule_order(to_text(order)).value() == order);
  CHECK(parse_schedule_order("fast\n").status().message() ==
        "found 'fast\\n', expected strict, min-peak or max-concurrency; say one of these");
}

TEST_CASE("the strict order is the graph's, with a barrier after each step") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Schedule schedule = schedule_of(test::make_random_network(seed, seed % 2 == 0), ScheduleOrder::kStrict);
    for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
      CHECK(schedule.steps[StepId{i}].number == i);
      CHECK(schedule.steps[StepId{i}].timepoint == i);
    }
    CHECK(measure_schedule(schedule).num_barriers == schedule.steps.size() - 1);
  }
}

TEST_CASE("the text of a schedule says its order") {
  const Graph graph = test::make_random_network(1, false);
  for (const ScheduleOrder order : kOrders) {
    const std::string text = to_text(schedule_of(graph, order));
    CHECK(text.substr(0, text.find('\n')).ends_with(" slab bytes, " + std::string(to_text(order))));
  }
}

TEST_CASE("independent branches share timepoints under max-concurrency") {
  GraphBuilder graph("branches");
  const Tensor x = graph.input("x", DType::kF32, {4, 8});
  for (int i = 0; i < 5; ++i) {
    graph.output("y" + std::to_string(i), cumulative_sum(softmax(x * static_cast<double>(i + 2))));
  }
  const Schedule schedule = schedule_of(graph.finish().value(), ScheduleOrder::kMaxConcurrency);
  std::vector<std::uint32_t> num_at;  // steps, per timepoint
  for (const Step& step : schedule.steps) {
    if (num_at.size() <= step.timepoint) num_at.resize(step.timepoint + 1);
    ++num_at[step.timepoint];
  }
  CHECK(num_at.size() > 1);
  for (const std::uint32_t count : num_at) CHECK(count == 5);
}

TEST_CASE("the order of min-peak never needs more memory than the graph's order" * test::Sliced()) {
  int num_better = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Graph graph = test::make_random_network(seed, false);
    if (seed > 100) {
      const test::RandomGraph random = test::make_random_graph(seed);
      graph = random.bindings.empty() ? random.graph : bind_graph(random.graph, random.bindings.back());
    }
    const Schedule min_peak = schedule_of(graph, ScheduleOrder::kMinPeak);
    const Schedule strict = schedule_of(graph, ScheduleOrder::kStrict);
    CHECK(*measure_schedule(min_peak).peak_bytes <= *measure_schedule(strict).peak_bytes);
    CHECK(min_peak.steps.size() == strict.steps.size());
    num_better += *measure_schedule(min_peak).peak_bytes < *measure_schedule(strict).peak_bytes ? 1 : 0;
  }
  MESSAGE(num_better, " of 300 need less than in the graph's order");
  CHECK(num_better > 20);
}

TEST_CASE(
    "for symbolic sizes, the largest live set is at most that of the graph's order at small, middle and large ones") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Graph graph = test::make_random_network(seed, true);
    const Schedule min_peak = schedule_of(graph, ScheduleOrder::kMinPeak);
    const Schedule strict = schedule_of(graph, ScheduleOrder::kStrict);
    for (const std::int64_t size : {1, 64, 4096}) {
      const SymbolValues values = {{"n", size}, {"m", size}};
      CHECK(*measure_schedule(min_peak, values).lower_bound_bytes <=
            *measure_schedule(strict, values).lower_bound_bytes);
    }
  }
}

/// All weights are dequantised first, in the graph's order, and each is read by two matrix products.
Graph layers(std::int64_t count, std::int64_t size) {
  GraphBuilder graph("layers");
  Tensor x = graph.input("x", DType::kF32, {8, size});
  std::vector<Tensor> weights;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor codes = graph.input("codes" + std::to_string(i), DType::kI8, {size, size});
    weights.push_back(cast(codes, DType::kF32) * (1.0 / 64) + 1.0 / 8);
  }
  for (const Tensor& weight : weights) x = softmax(matmul(x, weight)) + matmul(x, transpose(weight, {1, 0}));
  graph.output("y", x);
  return graph.finish().value();
}

TEST_CASE("at most two of 32 layers' dequantised weights are alive") {
  constexpr std::int64_t kLayers = 32, kSize = 64, kWeightBytes = kSize * kSize * 4;
  const Graph graph = layers(kLayers, kSize);
  for (const std::string_view target : {"cpu:baseline", "sim:gfx1100"}) {
    for (const ScheduleOrder order : kOrders) {
      CAPTURE(to_text(order));
      const Schedule schedule = schedule_of(graph, order, target);
      std::vector<const Resource*> weights;
      for (const Resource& resource : schedule.resources) {
        if (resource.lifetime == Lifetime::kTransient && resource.size_bytes.is(kWeightBytes))
          weights.push_back(&resource);
      }
      REQUIRE(weights.size() == kLayers);
      std::int64_t max_weights = 0;
      for (const Resource* at : weights) {
        max_weights = std::max(max_weights, std::ranges::count_if(weights, [&](const Resource* other) {
                                 return other->first_timepoint <= at->first_timepoint &&
                                        at->first_timepoint <= other->last_timepoint;
                               }));
      }
      CHECK(max_weights == (order == ScheduleOrder::kStrict ? kLayers : order == ScheduleOrder::kMinPeak ? 1 : 2));
    }
  }
}

TEST_CASE("every order gives the values that the oracle allows" * test::Sliced()) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const test::RandomGraph random = test::make_random_graph(seed);
    CompileOptions options;
    options.context = test::test_context();
    options.order = kOrders[seed % 3];
    if (seed % 4 == 0) options.device = "sim:gfx1100";
    const std::vector<SymbolValues> bindings =
        random.bindings.empty() ? std::vector<SymbolValues>{{}} : random.bindings;
    for (const SymbolValues& values : bindings) CHECK(test::check_graph(random.graph, values, options, seed) == "");
  }
}

}  // namespace
}  // namespace millrace
