// SPDX-License-Identifier: Apache-2.0
// The k largest of rows, values and i64 indices, in order: ours beside the C++ library and beside reading everything
// once. f32, one thread: name/rows/n/k/order (rows.h).
#include <benchmark/benchmark.h>

#include "bench/ops/peers/std_order.h"
#include "bench/ops/rows.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;

struct Problem {
  std::int64_t rows, n, k;
};

struct Results {
  explicit Results(const Problem& problem)
      : values(static_cast<std::size_t>(problem.rows * problem.k)), indices(values.size()) {}
  std::vector<float> values;
  std::vector<std::int64_t> indices;
};

void run_ours(benchmark::State& state, const Problem& problem, const std::vector<std::vector<float>>& inputs) {
  GraphBuilder graph("topk");
  const auto [values, indices] = topk(graph.input("x", DType::kF32, {problem.rows, problem.n}), problem.k);
  graph.output("values", values);
  graph.output("indices", indices);
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  Results results(problem);
  std::size_t turn = 0;
  for (auto _ : state) {
    const TensorBinding in[] = {bind(inputs[turn++ % inputs.size()])};
    const TensorBinding out[] = {bind(results.values), bind(results.indices)};
    if (const Status status = session.run(in, out); !status.ok()) state.SkipWithError(status.message().c_str());
  }
}

template <auto peer>
void run_peer(benchmark::State& state, const Problem& problem, const std::vector<std::vector<float>>& inputs) {
  Results results(problem);
  std::size_t turn = 0;
  for (auto _ : state) {
    peer(inputs[turn++ % inputs.size()].data(), results.values.data(), results.indices.data(), problem.rows, problem.n,
         problem.k);
    benchmark::ClobberMemory();
  }
}

void run_read(benchmark::State& state, const Problem& problem, const std::vector<std::vector<float>>& inputs) {
  std::size_t turn = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(peers::read_all(inputs[turn++ % inputs.size()].data(), problem.rows * problem.n));
  }
}

using Run = void (*)(benchmark::State&, const Problem&, const std::vector<std::vector<float>>&);

struct Contender {
  const char* name;
  Run run;
};
constexpr Contender kContenders[] = {{"ours", run_ours},
                                     {"read", run_read},
                                     {"binary_heap", run_peer<peers::binary_heap_topk>},
                                     {"partial_sort", run_peer<peers::partial_sort_topk>},
                                     {"nth_element", run_peer<peers::nth_element_topk>}};
constexpr Problem kProblems[] = {{1, 32000, 50}, {128, 32000, 50}, {1, 151936, 50},     {1, 1'000'000, 100},
                                 {4096, 256, 8}, {1, 8400, 300},   {1, 1'000'000, 5000}};

void add(const Problem& problem, std::size_t order, const Contender& contender) {
  const std::string name = std::string("topk_") + contender.name + "/" + std::to_string(problem.rows) + "/" +
                           std::to_string(problem.n) + "/" + std::to_string(problem.k) + "/" +
                           std::string(bench::kOrderNames[order]);
  const auto run = [=](benchmark::State& state) {
    const auto inputs = bench::make_inputs(problem.rows, problem.n, static_cast<bench::Order>(order));
    contender.run(state, problem, inputs);
    state.SetBytesProcessed(state.iterations() * problem.rows * problem.n * 4);
  };
  benchmark::RegisterBenchmark(name.c_str(), run);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Problem& problem : kProblems) {
    for (std::size_t order = 0; order < bench::kOrderNames.size(); ++order) {
      for (const Contender& contender : kContenders) add(problem, order, contender);
    }
  }
  return true;
}();

}  // namespace
