// SPDX-License-Identifier: Apache-2.0
// Sorting rows of f32, and finding their stable order, ours beside the C++ library and, where it was named to cmake
// (-DMILLRACE_PEER_HIGHWAY=DIR), Highway's vqsort, one thread: name/rows/n/order (rows.h).
#include <benchmark/benchmark.h>

#include "bench/ops/peers/highway_sort.h"
#include "bench/ops/peers/std_order.h"
#include "bench/ops/rows.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;

struct Problem {
  std::int64_t rows, n;
};
using Inputs = std::vector<std::vector<float>>;

/// Values, or indices; for the best level of the host, or for AVX2.
template <class T, bool is_avx2 = false>
void run_ours(benchmark::State& state, const Problem& problem, const Inputs& inputs) {
  GraphBuilder graph("sort");
  const auto [values, indices] = sort(graph.input("x", DType::kF32, {problem.rows, problem.n}));
  graph.output("y", std::is_same_v<T, float> ? values : indices);
  const CompileOptions options = {.targets =
                                      is_avx2 ? std::vector<std::string>{"cpu:avx2"} : std::vector<std::string>()};
  Session session = Session::create(compile(graph.finish().value(), options).value()).value();
  std::vector<T> y(inputs[0].size());
  std::size_t turn = 0;
  for (auto _ : state) {
    const TensorBinding in[] = {bind(inputs[turn++ % inputs.size()])}, out[] = {bind(y)};
    if (const Status status = session.run(in, out); !status.ok()) state.SkipWithError(status.message().c_str());
  }
}

template <class T, auto peer>
void run_peer(benchmark::State& state, const Problem& problem, const Inputs& inputs) {
  std::vector<T> y(inputs[0].size());
  std::size_t turn = 0;
  for (auto _ : state) {
    peer(inputs[turn++ % inputs.size()].data(), y.data(), problem.rows, problem.n);
    benchmark::ClobberMemory();
  }
}

struct Contender {
  const char* name;
  void (*run)(benchmark::State&, const Problem&, const Inputs&);
};
constexpr Contender kContenders[] = {{"sort_ours", run_ours<float>},
                                     {"sort_ours_avx2", run_ours<float, true>},
                                     {"argsort_ours_avx2", run_ours<std::int64_t, true>},
#ifdef MILLRACE_PEER_HIGHWAY
                                     {"sort_vqsort", run_peer<float, peers::highway_sort>},
                                     {"sort_vqsort_avx2", run_peer<float, peers::highway_sort_avx2>},
                                     {"argsort_vqsort", run_peer<std::int64_t, peers::highway_argsort>},
                                     {"argsort_vqsort_avx2", run_peer<std::int64_t, peers::highway_argsort_avx2>},
#endif
                                     {"sort_std", run_peer<float, peers::std_sort>},
                                     {"argsort_ours", run_ours<std::int64_t>},
                                     {"argsort_std", run_peer<std::int64_t, peers::std_argsort>}};
constexpr Problem kProblems[] = {{4096, 16},  {4096, 64},   {4096, 256},    {4096, 512},    {1024, 1024},
                                 {1, 10'000}, {1, 100'000}, {1, 1'000'000}, {1, 10'000'000}};

void add(const Problem& problem, std::size_t order, const Contender& contender) {
  const std::string name = std::string(contender.name) + "/" + std::to_string(problem.rows) + "/" +
                           std::to_string(problem.n) + "/" + std::string(bench::kOrderNames[order]);
  const auto run = [=](benchmark::State& state) {
    contender.run(state, problem, bench::make_inputs(problem.rows, problem.n, static_cast<bench::Order>(order)));
    state.SetItemsProcessed(state.iterations() * problem.rows * problem.n);
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
