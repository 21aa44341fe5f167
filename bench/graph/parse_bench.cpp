// SPDX-License-Identifier: Apache-2.0
// Text to graph and back, of graphs with many nodes.
#include <benchmark/benchmark.h>

#include "millrace/millrace.h"

namespace millrace {
namespace {

/// A tower of blocks of ten nodes: a matrix product, a bias, a gelu and a residual, in f32[rows, 64].
Graph tower(std::int64_t num_nodes) {
  GraphBuilder graph("tower");
  Tensor x = graph.input("x", DType::kF32, {Dim("rows").at_least(1).at_most(4096), 64});
  const Tensor weights = graph.input("weights", DType::kF32, {64, 64});
  const Tensor bias = graph.input("bias", DType::kF32, {64});
  while (graph.graph().nodes.size() < static_cast<std::size_t>(num_nodes)) {
    x = x + gelu(matmul(x, weights) + broadcast_to(bias, x.shape()));
  }
  graph.output("y", x);
  return graph.finish().value();
}

void parse_and_verify(benchmark::State& state) {
  const std::string text = to_text(tower(state.range(0)));
  for (auto _ : state) {
    const Result<Graph> graph = parse_graph(text);  // verifies too
    if (!graph.ok()) state.SkipWithError(graph.status().message().c_str());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(parse_and_verify)->Arg(100)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond);

void verify_only(benchmark::State& state) {
  const Graph graph = tower(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(verify(graph).ok());
}
BENCHMARK(verify_only)->Arg(10'000)->Unit(benchmark::kMillisecond);

void print(benchmark::State& state) {
  const Graph graph = tower(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(to_text(graph));
}
BENCHMARK(print)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace
