// SPDX-License-Identifier: Apache-2.0
// The k largest of rows, values and i64 indices, in order, compared with the C++ library and with reading everything
// once. f32 unless the name has another dtype, one thread: name/rows/n/k/order (contenders.h).
#include <benchmark/benchmark.h>

#include "bench/ops/contenders.h"
#include "bench/ops/peers/std_order.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;
using bench::Contender;
using bench::Problem;

template <class T = float>
struct Results {
  explicit Results(const Problem& problem)
      : values(static_cast<std::size_t>(problem.rows * problem.k)), indices(values.size()) {}
  std::vector<T> values;
  std::vector<std::int64_t> indices;
};

/// How we select: for the best level of the host or for AVX2; with constant sizes or sizes that a run binds; along the
/// last axis or across `columns` columns; from the input, or from the input times a factor per row plus a bias per
/// column. A single row has only one bias, because reading a bias per column would take as long as reading the row.
struct Variant {
  bool is_avx2 = false, is_dynamic = false, is_scaled = false;
  std::int64_t columns = 1;
};

template <Variant variant = Variant{}, class T = float>
void run_ours(benchmark::State& state, const Problem& problem, std::string_view order) {
  const auto& inputs = bench::inputs_of<T>(problem, order);
  const auto extents = bench::extents_of(problem, variant.columns);
  GraphBuilder graph("topk");
  Shape shape{extents[0], extents[1], extents[2]};
  SizeExpr k = problem.k;
  if (variant.is_dynamic) {
    shape = {Dim("rows"), Dim("n").at_most(1 << 30), extents[2]};
    k = Dim("k").at_most(problem.k <= 1024 ? 1024 : 8192);
  }
  Tensor x = graph.input("x", dtype_of<T>, shape);
  const std::vector<float> factors(static_cast<std::size_t>(problem.rows), 1.5f);
  const std::int64_t num_biases = problem.rows > 1 ? problem.n : 1;
  const std::vector<float> bias(static_cast<std::size_t>(num_biases), 0.25f);
  if (variant.is_scaled) {
    const Tensor factor = graph.input("factor", DType::kF32, {problem.rows, 1, 1});
    x = x * broadcast_to(factor, shape) + broadcast_to(graph.input("bias", DType::kF32, {num_biases, 1}), shape);
  }
  const auto [values, indices] = topk(x, k, {.axis = 1});
  graph.output("values", values);
  graph.output("indices", indices);
  CompileOptions options;
  options.device = "cpu:threads=1";
  if (variant.is_avx2) options.targets = {"cpu:avx2"};
  Session session = Session::create(compile(graph.finish().value(), options).value()).value();
  Results<T> results(problem);
  const DimBinding dims[] = {{"k", problem.k}};
  const auto run = [&](std::size_t iteration) {
    const TensorBinding in[] = {bind(inputs[iteration % inputs.size()], extents), bind(factors, {problem.rows, 1, 1}),
                                bind(bias, {num_biases, 1})};
    const TensorBinding out[] = {bind(results.values), bind(results.indices)};
    const Status status = session.run(std::span(in).first(variant.is_scaled ? 3 : 1), out,
                                      std::span(dims).first(variant.is_dynamic ? 1 : 0));
    if (!status.ok()) state.SkipWithError(status.message().c_str());
  };
  run(0);  // a session's first run touches its memory
  std::size_t iteration = 0;
  for (auto _ : state) run(iteration++);
}

template <auto peer>
void run_peer(benchmark::State& state, const Problem& problem, std::string_view order) {
  const auto& inputs = bench::inputs_of<float>(problem, order);
  Results<> results(problem);
  std::size_t iteration = 0;
  for (auto _ : state) {
    peer(inputs[iteration++ % inputs.size()].data(), results.values.data(), results.indices.data(), problem.rows,
         problem.n, problem.k);
    benchmark::ClobberMemory();
  }
}

void run_read(benchmark::State& state, const Problem& problem, std::string_view order) {
  const auto& inputs = bench::inputs_of<float>(problem, order);
  std::size_t iteration = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(peers::read_all(inputs[iteration++ % inputs.size()].data(), problem.rows * problem.n));
  }
}

constexpr Problem kRows[] = {{1, 32000, 50}, {128, 32000, 50}, {1, 151936, 50},     {1, 1'000'000, 100},
                             {4096, 256, 8}, {1, 8400, 300},   {1, 1'000'000, 5000}};
/// Long enough to be cut into parts.
constexpr Problem kLongRows[] = {{1, 2'100'000, 50}, {1, 4'000'000, 100}, {1, 16'000'000, 100}};
constexpr Problem kFewRows[] = {{1, 32000, 50}, {1, 1'000'000, 100}, {4096, 256, 8}, {1, 8400, 300}};

constexpr Problem kThousand[] = {{1024, 1024, 8}};

constexpr Contender kContenders[] = {
    {"topk_ours", run_ours<>, kRows, bench::kUsualOrders},
    {"topk_ours_avx2", run_ours<Variant{.is_avx2 = true}>, kRows, bench::kRandom},
    {"topk_ours_dynamic", run_ours<Variant{.is_dynamic = true}>, kRows, bench::kRandom},
    {"topk_ours_scaled", run_ours<Variant{.is_scaled = true}>, kRows, bench::kRandom},
    {"topk_ours_scaled_avx2", run_ours<Variant{.is_avx2 = true, .is_scaled = true}>, kRows, bench::kRandom},
    {"topk_ours", run_ours<>, kFewRows, bench::kHardOrders},
    {"topk_ours", run_ours<>, kThousand, bench::kRandom},
    {"topk_ours_columns", run_ours<Variant{.columns = 1024}>, kThousand, bench::kRandom},
    {"topk_ours_columns_avx2", run_ours<Variant{.is_avx2 = true, .columns = 1024}>, kThousand, bench::kRandom},
    {"topk_ours_columns_dynamic", run_ours<Variant{.is_dynamic = true, .columns = 1024}>, kThousand, bench::kRandom},
    {"topk_ours_f16", run_ours<Variant{}, Half>, kThousand, bench::kRandom},
    {"topk_ours_columns_f16", run_ours<Variant{.columns = 1024}, Half>, kThousand, bench::kRandom},
    {"topk_ours", run_ours<>, kLongRows, bench::kRandom},
    {"topk_ours_dynamic", run_ours<Variant{.is_dynamic = true}>, kLongRows, bench::kRandom},
    {"topk_read", run_read, kLongRows, bench::kRandom},
    {"topk_read", run_read, kRows, bench::kUsualOrders},
    {"topk_binary_heap", run_peer<peers::binary_heap_topk>, kRows, bench::kUsualOrders},
    {"topk_partial_sort", run_peer<peers::partial_sort_topk>, kRows, bench::kUsualOrders},
    {"topk_nth_element", run_peer<peers::nth_element_topk>, kRows, bench::kUsualOrders},
};

[[maybe_unused]] const bool kRegistered = [] {
  bench::register_contenders(kContenders);
  return true;
}();

}  // namespace
