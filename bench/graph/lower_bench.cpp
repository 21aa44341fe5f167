// SPDX-License-Identifier: Apache-2.0
// The part of compile() before code generation, on graphs with many nodes.
#include <benchmark/benchmark.h>

#include "bench/graph/tower.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

void passes(benchmark::State& state) {
  const Graph graph = bench::tower(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    Graph copy = graph;
    state.ResumeTiming();
    if (!run_passes(copy, kGraphPasses).ok()) state.SkipWithError("a pass failed");
  }
}
BENCHMARK(passes)->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond);

/// Everything before code generation: passes, dispatches, kernels and their plans, schedule and commands.
void lower(benchmark::State& state) {
  const Graph graph = bench::tower(state.range(0));
  const Target target = make_default_context()->target("cpu").value();
  for (auto _ : state) {
    state.PauseTiming();
    Graph copy = graph;
    state.ResumeTiming();
    const Result<LoweredGraph> lowered = lower_graph(std::move(copy), target);
    if (!lowered.ok()) state.SkipWithError(lowered.status().message().c_str());
  }
}
BENCHMARK(lower)->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace
