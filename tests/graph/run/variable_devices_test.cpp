// SPDX-License-Identifier: Apache-2.0
// A step of a KV cache on every kind of device: it writes its own rows, in place, and moves nothing else.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/sim_device.h"
#include "millrace/isa/driver.h"
#include "millrace/millrace.h"
#include "tests/graph/run/far_programs.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

constexpr std::size_t kLayers = 2, kHeads = 3, kMax = 16, kDepth = 4;
constexpr std::size_t kRow = kHeads * kDepth;  // elements that a step writes in each layer
using Row = std::array<float, kRow>;

/// A cache [layers, heads, max, d]; in each layer, a step stores x plus what the layer before gave, and gives the sums
/// over the positions so far.
Graph cache_step() {
  constexpr std::int64_t layers = kLayers, heads = kHeads, max = kMax, depth = kDepth;
  GraphBuilder graph("cache_step");
  const Tensor x = graph.input("x", DType::kF32, {heads, depth}), position = graph.input("position", DType::kI64, {});
  const Tensor cache = graph.variable("cache", {DType::kF32, {layers, heads, max, depth}});
  Tensor all = cache, row = x;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const Tensor places = iota(graph, DType::kI64, {heads}, 0) * max + layer * heads * max + position;
    all = reshape(scatter(reshape(all, {layers * heads * max, depth}), places, row, 0), cache.shape());
    const Tensor own = slice(all, {layer, 0, 0, 0}, {layer + 1, heads, max, depth});
    row = x + reshape(reduce_sum(own, {2}), {heads, depth});
  }
  graph.update(cache, all);
  graph.output("y", row);
  return graph.finish().value();
}

/// What cache_step does, in plain loops.
struct PlainCache {
  std::array<float, kLayers * kMax * kRow> rows{};  // [layer, position, head, depth]

  Row step(const Row& x, std::size_t position) {
    Row row = x;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      for (std::size_t i = 0; i < kRow; ++i) {
        rows[(layer * kMax + position) * kRow + i] = row[i];
        row[i] = x[i];
        for (std::size_t p = 0; p < kMax; ++p) row[i] += rows[(layer * kMax + p) * kRow + i];
      }
    }
    return row;
  }
};

/// Steps through some positions, one of them twice. Small whole numbers, so that sums are exact in any order.
void check_steps(const CompileOptions& options) {
  const Result<Program> program = compile(cache_step(), options);
  REQUIRE(program.status().message() == "");
  Session session = Session::create(*program).value();
  PlainCache plain;
  for (const std::int64_t position : {0, 1, 2, 15, 2}) {
    Row x{}, y{};
    for (std::size_t i = 0; i < kRow; ++i) x[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(position)) % 5);
    REQUIRE(session.run({bind(x), bind(position)}, {bind(y)}).message() == "");
    CHECK(y == plain.step(x, static_cast<std::size_t>(position)));
  }
  std::vector<float> cache(kLayers * kMax * kRow);
  REQUIRE(session.get("cache", bind(cache)).message() == "");
  for (std::size_t i = 0; i < cache.size(); ++i) {
    const std::size_t depth = i % kDepth, position = i / kDepth % kMax, head = i / kDepth / kMax % kHeads;
    const std::size_t layer = i / kDepth / kMax / kHeads;
    CAPTURE(i);
    CHECK(cache[i] == plain.rows[(layer * kMax + position) * kRow + head * kDepth + depth]);
  }
}

TEST_CASE("steps of a KV cache are right on the CPU, on far devices, on a simulated GPU and on HIP's stand-in") {
  test::on_near_and_far([](const CompileOptions& options) { check_steps(options); });
  for (const CompileOptions& options : test::every_way_to_compile()) check_steps(options);
}

TEST_CASE("steps of a KV cache are right in a GPU's machine code") {
  for (const char* gfx : {"isa:gfx1100", "isa:gfx90a"}) {
    CAPTURE(gfx);
    CompileOptions options;
    options.context = test::isa_context();
    options.device = gfx;
    check_steps(options);
  }
}

TEST_CASE("a step of a KV cache copies nothing, and its kernels are not given the old cache") {
  const LoweredGraph lowered = lower_graph(cache_step(), test::test_context()->target("cpu:baseline").value()).value();
  const auto is_in_variable = [&](const auto& replaced) {
    const Value memory = lowered.dispatch.memory_of(replaced.first);
    return std::holds_alternative<VariableNode>(lowered.dispatch.graph.nodes[memory.node].what);
  };
  CHECK(std::ranges::count_if(lowered.dispatch.in_place, is_in_variable) == kLayers);
  for (const Step& step : lowered.schedule.steps) CHECK(step.copy_reason == "");
  for (const Resource& resource : lowered.schedule.resources) {
    const bool is_large = resource.size_bytes.constant() >= static_cast<std::int64_t>(kMax * kRow * sizeof(float));
    CHECK(is_large == (resource.lifetime == Lifetime::kVariable));
  }
}

TEST_CASE("a step of a KV cache writes only its new rows") {
  for (const char* gfx : {"sim:gfx1100", "sim:gfx90a"}) {
    CAPTURE(gfx);
    const auto device = create_sim_device(TargetSpec::parse(gfx).value()).value();
    CompileOptions options;
    options.context = test::test_context();
    options.on_device = device;
    Session session = Session::create(compile(cache_step(), options).value()).value();
    Row x{}, y{};
    const std::int64_t position = 5;
    REQUIRE(session.run({bind(x), bind(position)}, {bind(y)}).message() == "");
    std::uint64_t written = 0;
    std::size_t scatters = 0;
    for (const SimDispatch& dispatch : device->dispatches()) {
      written += dispatch.counts.buffer_bytes_written;
      if (!dispatch.kernel.starts_with("scatter")) continue;
      ++scatters;
      CHECK(dispatch.counts.buffer_bytes_written == kRow * sizeof(float));
      // The row, and each head's place, which the threads share.
      CHECK(dispatch.counts.buffer_bytes_read == kRow * sizeof(float) + kHeads * sizeof(std::int64_t));
    }
    CHECK(scatters == kLayers);
    // A layer's other kernels write its places and its sums.
    CHECK(written <= kLayers * (kRow * 3 * sizeof(float) + kHeads * sizeof(std::int64_t)));
  }
}

TEST_CASE("a counter is changed in place: one dispatch, which reads and writes its bytes once") {
  const auto device = create_sim_device(TargetSpec::parse("sim:gfx1100").value()).value();
  CompileOptions options;
  options.context = test::test_context();
  options.on_device = device;
  GraphBuilder graph("counter");
  const Tensor x = graph.input("x", DType::kF32, {1000}), sum = graph.variable("sum", {DType::kF32, {1000}}, 1);
  graph.update(sum, sum * 2.0 + x);
  Session session = Session::create(compile(graph.finish().value(), options).value()).value();
  std::vector<float> steps(1000), found(1000);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<float>(i);
  for (int run = 0; run < 2; ++run) REQUIRE(session.run({bind(steps)}, {}).message() == "");
  REQUIRE(device->dispatches().size() == 1);
  CHECK(device->dispatches()[0].counts.buffer_bytes_read == 2 * 4000);
  CHECK(device->dispatches()[0].counts.buffer_bytes_written == 4000);
  REQUIRE(session.get("sum", bind(found)).message() == "");
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == 4 + 3 * steps[i]);
}

}  // namespace
}  // namespace millrace
