// SPDX-License-Identifier: Apache-2.0
// The cost of Session::run beyond the kernels, measured on programs whose kernels do almost nothing.
#include <benchmark/benchmark.h>

#include "millrace/millrace.h"

namespace millrace {
namespace {

/// A chain of `dispatches` kernels of 16 elements each; reshapes keep them from fusing into one.
Program chain(int dispatches) {
  GraphBuilder graph("chain");
  Tensor x = graph.input("x", DType::kF32, {16});
  for (int i = 0; i < dispatches; ++i) x = reshape(x, i % 2 == 0 ? Shape{4, 4} : Shape{16}) + 1.0;
  graph.output("y", x);
  return compile(graph.finish().value(), {.device = "cpu:threads=1"}).value();
}

void run_dispatches(benchmark::State& state) {
  const auto dispatches = static_cast<int>(state.range(0));
  Session session = Session::create(chain(dispatches)).value();
  std::vector<float> x(16), y(16);
  const TensorBinding inputs[] = {bind(x)}, outputs[] = {bind(y)};
  for (auto _ : state) {
    if (const Status status = session.run(inputs, outputs); !status.ok()) state.SkipWithError(status.message().c_str());
  }
  state.counters["per_dispatch"] = benchmark::Counter(static_cast<double>(state.iterations() * dispatches),
                                                      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(run_dispatches)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace millrace
