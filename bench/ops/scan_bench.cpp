// SPDX-License-Identifier: Apache-2.0
// Ops that read each element of their rows once: argmax compared with reading everything, a cumulative sum compared
// with copying everything. f32, one thread: name/rows/n.
#include <cstring>
#include <type_traits>

#include <benchmark/benchmark.h>

#include "bench/ops/peers/std_order.h"
#include "bench/ops/rows.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;

struct Problem {
  std::int64_t rows, n;
};
using Inputs = std::vector<std::vector<float>>;

template <class Result>
void run_ours(benchmark::State& state, const Problem& problem, const Inputs& inputs, Tensor (*op)(Tensor)) {
  GraphBuilder graph("rows");
  const Tensor y = op(graph.input("x", DType::kF32, {problem.rows, problem.n}));
  graph.output("y", y);
  std::vector<Result> results(
      static_cast<std::size_t>(std::is_same_v<Result, float> ? problem.rows * problem.n : problem.rows));
  Session session = Session::create(compile(graph.finish().value(), {.device = "cpu:threads=1"}).value()).value();
  std::size_t iteration = 0;
  for (auto _ : state) {
    const TensorBinding in[] = {bind(inputs[iteration++ % inputs.size()])}, out[] = {bind(results)};
    if (const Status status = session.run(in, out); !status.ok()) state.SkipWithError(status.message().c_str());
  }
}

void run_argmax(benchmark::State& state, const Problem& problem, const Inputs& inputs) {
  run_ours<std::int64_t>(state, problem, inputs, [](Tensor x) { return argmax(x, 1); });
}
void run_cumulative_sum(benchmark::State& state, const Problem& problem, const Inputs& inputs) {
  run_ours<float>(state, problem, inputs, [](Tensor x) { return cumulative_sum(x, {.axis = 1}); });
}
void run_read(benchmark::State& state, const Problem& problem, const Inputs& inputs) {
  std::size_t iteration = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(peers::read_all(inputs[iteration++ % inputs.size()].data(), problem.rows * problem.n));
  }
}
void run_copy(benchmark::State& state, const Problem&, const Inputs& inputs) {
  std::vector<float> results(inputs[0].size());
  std::size_t iteration = 0;
  for (auto _ : state) {
    std::memcpy(results.data(), inputs[iteration++ % inputs.size()].data(), results.size() * sizeof(float));
    benchmark::ClobberMemory();
  }
}

struct Contender {
  const char* name;
  void (*run)(benchmark::State&, const Problem&, const Inputs&);
};
constexpr Contender kContenders[] = {
    {"argmax_ours", run_argmax}, {"read", run_read}, {"cumulative_sum_ours", run_cumulative_sum}, {"copy", run_copy}};
constexpr Problem kProblems[] = {{128, 1024}, {4096, 1024}, {1, 32'000}, {1, 1'000'000}, {1, 8'000'000}};

[[maybe_unused]] const bool kRegistered = [] {
  for (const Problem& problem : kProblems) {
    for (const Contender& contender : kContenders) {
      const std::string name =
          std::string(contender.name) + "/" + std::to_string(problem.rows) + "/" + std::to_string(problem.n);
      const auto run = [=](benchmark::State& state) {
        contender.run(state, problem, bench::make_inputs(problem.rows, problem.n, bench::Order::kRandom));
        state.SetBytesProcessed(state.iterations() * problem.rows * problem.n * std::int64_t{sizeof(float)});
      };
      benchmark::RegisterBenchmark(name.c_str(), run);
    }
  }
  return true;
}();

}  // namespace
