// SPDX-License-Identifier: Apache-2.0
// One of our kernels and a peer in one Google Benchmark program: the softmax of rows, and a plain loop that computes
// it. Inputs rotate, so that no branch predictor learns them, and both write to memory that is read afterwards.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/millrace.h"

using namespace millrace;

namespace {

constexpr std::size_t kInputs = 8;

std::vector<std::vector<float>> make_inputs(std::int64_t elements) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> inputs(kInputs, std::vector<float>(static_cast<std::size_t>(elements)));
  for (auto& input : inputs) std::ranges::generate(input, [&] { return normal(random); });
  return inputs;
}

void softmax_ours(benchmark::State& state) {
  const std::int64_t rows = state.range(0), columns = state.range(1);
  GraphBuilder graph("softmax");
  graph.output("y", softmax(graph.input("x", DType::kF32, {rows, columns})));
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  const auto inputs = make_inputs(rows * columns);
  std::vector<float> y(inputs[0].size());
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Status status = session.run({bind("x", inputs[next++ % kInputs])}, {bind("y", y)});
    if (!status.ok()) return state.SkipWithError(status.message().c_str());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * rows * columns * 8);
}

void softmax_loop(benchmark::State& state) {
  const std::size_t columns = static_cast<std::size_t>(state.range(1));
  const auto inputs = make_inputs(state.range(0) * state.range(1));
  std::vector<float> y(inputs[0].size());
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::vector<float>& x = inputs[next++ % kInputs];
    for (std::size_t row = 0; row < x.size(); row += columns) {
      const float maximum = *std::max_element(&x[row], &x[row] + columns);
      float sum = 0;
      for (std::size_t i = row; i < row + columns; ++i) sum += y[i] = std::exp(x[i] - maximum);
      for (std::size_t i = row; i < row + columns; ++i) y[i] /= sum;
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * state.range(1) * 8);
}

BENCHMARK(softmax_ours)->Args({64, 1024})->Args({1, 32000});
BENCHMARK(softmax_loop)->Args({64, 1024})->Args({1, 32000});

}  // namespace

BENCHMARK_MAIN();
