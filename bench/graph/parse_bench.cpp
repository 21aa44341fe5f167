// SPDX-License-Identifier: Apache-2.0
// Parses and prints graphs with many nodes.
#include <benchmark/benchmark.h>

#include "bench/graph/tower.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

void parse_and_verify(benchmark::State& state) {
  const std::string text = to_text(bench::tower(state.range(0)));
  for (auto _ : state) {
    const Result<Graph> graph = parse_graph(text);  // verifies too
    if (!graph.ok()) state.SkipWithError(graph.status().message().c_str());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(parse_and_verify)->Arg(100)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond);

void verify_only(benchmark::State& state) {
  const Graph graph = bench::tower(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(verify(graph).ok());
}
BENCHMARK(verify_only)->Arg(10'000)->Unit(benchmark::kMillisecond);

void print(benchmark::State& state) {
  const Graph graph = bench::tower(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(to_text(graph));
}
BENCHMARK(print)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace
