// SPDX-License-Identifier: Apache-2.0
// Softmax over rows, compared with Eigen, one thread, rotating 16 inputs.
#include <random>

#include <benchmark/benchmark.h>

#include "bench/ops/peers/eigen_softmax.h"
#include "millrace/millrace.h"

namespace {

constexpr int kInputs = 16;

std::vector<std::vector<float>> inputs(std::int64_t rows, std::int64_t columns) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> all(kInputs, std::vector<float>(static_cast<std::size_t>(rows * columns)));
  for (auto& input : all) {
    for (float& value : input) value = normal(random);
  }
  return all;
}

void count(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0) * state.range(1) * 8);
}

void softmax_millrace(benchmark::State& state) {
  using namespace millrace;
  GraphBuilder graph("softmax");
  graph.output("y", softmax(graph.input("x", DType::kF32, {state.range(0), state.range(1)})));
  Session session = Session::create(compile(graph.finish().value(), {.device = "cpu:threads=1"}).value()).value();
  const auto all = inputs(state.range(0), state.range(1));
  std::vector<float> y(all[0].size());
  std::size_t iteration = 0;
  for (auto _ : state) {
    const TensorBinding in[] = {bind(all[iteration++ % kInputs])}, out[] = {bind(y)};
    if (const Status status = session.run(in, out); !status.ok()) state.SkipWithError(status.message().c_str());
  }
  count(state);
}

void softmax_eigen(benchmark::State& state) {
  const auto all = inputs(state.range(0), state.range(1));
  std::vector<float> y(all[0].size());
  std::size_t iteration = 0;
  for (auto _ : state) {
    millrace::peers::eigen_softmax(all[iteration++ % kInputs].data(), y.data(), state.range(0), state.range(1));
    benchmark::ClobberMemory();
  }
  count(state);
}

BENCHMARK(softmax_millrace)->Args({128, 1024})->Args({4096, 1024});
BENCHMARK(softmax_eigen)->Args({128, 1024})->Args({4096, 1024});

}  // namespace
