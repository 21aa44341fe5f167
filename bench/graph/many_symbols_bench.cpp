// SPDX-License-Identifier: Apache-2.0
// Builds, compiles and runs graphs of n inputs, each with its own symbolic extent: no stage may grow faster than n log
// n.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/millrace.h"

namespace millrace {
namespace {

/// %x0: f32[s0], %x1: f32[s1] and so on; the first `num_outputs` of them are doubled.
Graph build(std::int64_t num_inputs, std::int64_t num_outputs) {
  GraphBuilder graph("symbols");
  for (std::int64_t i = 0; i < num_inputs; ++i) {
    const std::string number = std::to_string(i);
    const Tensor x = graph.input("x" + number, DType::kF32, {Dim("s" + number)});
    if (i < num_outputs) graph.output("y" + number, x + x);
  }
  return graph.finish().value();
}

void building(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(build(state.range(0), state.range(0)));
}

void parsing(benchmark::State& state) {
  const std::string text = to_text(build(state.range(0), state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(parse_graph(text).value());
}

void verifying(benchmark::State& state) {
  const Graph graph = build(state.range(0), state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(verify(graph).ok());
}

void signing(benchmark::State& state) {
  const Graph graph = build(state.range(0), state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(Signature::of(graph).value());
}

CompileOptions options() {
  ContextOptions context;
  context.cache_directory = "";
  context.read_only_cache_directories.clear();
  return {.device = "cpu:threads=1", .context = make_default_context(context)};
}

void compiling_one_output(benchmark::State& state) {
  const Graph graph = build(state.range(0), 1);
  const CompileOptions given = options();
  for (auto _ : state) benchmark::DoNotOptimize(compile(graph, given).value());
}

void compiling(benchmark::State& state) {
  const Graph graph = build(state.range(0), state.range(0));
  const CompileOptions given = options();
  for (auto _ : state) benchmark::DoNotOptimize(compile(graph, given).value());
}

void opening_sessions(benchmark::State& state) {
  const Program program = compile(build(state.range(0), state.range(0)), options()).value();
  for (auto _ : state) benchmark::DoNotOptimize(Session::create(program).value());
}

void running(benchmark::State& state) {
  const Program program = compile(build(state.range(0), state.range(0)), options()).value();
  Session session = Session::create(program).value();
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<float> x(8 * count), y(8 * count);
  std::vector<TensorBinding> inputs, outputs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto extent = static_cast<std::int64_t>(i % 8 + 1);
    inputs.push_back(bind(std::span(&x[8 * i], i % 8 + 1), {extent}));
    outputs.push_back(bind(std::span(&y[8 * i], i % 8 + 1)));
  }
  for (auto _ : state) {
    const Status status = session.run(inputs, outputs);
    if (!status.ok()) return state.SkipWithError(status.message().c_str());
  }
}

#define MILLRACE_STAGE(stage) BENCHMARK(stage)->Arg(1000)->Arg(10'000)->Arg(20'000)->Unit(benchmark::kMillisecond)
MILLRACE_STAGE(building);
MILLRACE_STAGE(parsing);
MILLRACE_STAGE(verifying);
MILLRACE_STAGE(signing);
MILLRACE_STAGE(compiling_one_output);
MILLRACE_STAGE(compiling);
MILLRACE_STAGE(opening_sessions);
MILLRACE_STAGE(running);
#undef MILLRACE_STAGE

}  // namespace
}  // namespace millrace
