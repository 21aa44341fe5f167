// SPDX-License-Identifier: Apache-2.0
// Sorts rows and finds their stable order, compared with the C++ library, a radix sort and, if CMake was given
// Highway's sources (-DMILLRACE_PEER_HIGHWAY=DIR), Highway's vqsort, on one thread: name/dtype/rows/n/order
// (contenders.h). vqsort takes 16-bit floats as mapped integers. Problems that no peer sorts are compared with a copy.
#include <benchmark/benchmark.h>

#include "bench/ops/contenders.h"
#include "bench/ops/peers/highway_sort.h"
#include "bench/ops/peers/radix_order.h"
#include "bench/ops/peers/std_order.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;
using bench::Contender;
using bench::Problem;

/// How we sort: values or indices, for the best level of the host or for AVX2, with constant sizes or sizes that a run
/// binds, along the last axis or across `columns` columns.
struct Variant {
  bool finds_order = false, is_avx2 = false, is_dynamic = false;
  std::int64_t columns = 1;
};

template <class T, Variant variant = Variant{}>
void run_ours(benchmark::State& state, const Problem& problem, std::string_view order) {
  const auto& inputs = bench::inputs_of<T>(problem, order);
  const auto extents = bench::extents_of(problem, variant.columns);
  GraphBuilder graph("sort");
  Shape shape{extents[0], extents[1], extents[2]};
  if (variant.is_dynamic) shape = {Dim("rows"), Dim("n").at_most(1 << 30), extents[2]};
  const auto [values, indices] = sort(graph.input("x", dtype_of<T>, shape), 1);
  graph.output("y", variant.finds_order ? indices : values);
  CompileOptions options;
  options.device = "cpu:threads=1";
  if (variant.is_avx2) options.targets = {"cpu:avx2"};
  Session session = Session::create(compile(graph.finish().value(), options).value()).value();
  std::vector<std::conditional_t<variant.finds_order, std::int64_t, T>> y(inputs[0].size());
  const auto run = [&](std::size_t iteration) {
    const TensorBinding in[] = {bind(inputs[iteration % inputs.size()], extents)}, out[] = {bind(y)};
    if (const Status status = session.run(in, out); !status.ok()) state.SkipWithError(status.message().c_str());
  };
  run(0);  // a session's first run touches its memory
  std::size_t iteration = 0;
  for (auto _ : state) run(iteration++);
}

template <class T, class Result, auto peer>
void run_peer(benchmark::State& state, const Problem& problem, std::string_view order) {
  const auto& inputs = bench::inputs_of<T>(problem, order);
  std::vector<Result> y(inputs[0].size());
  std::size_t iteration = 0;
  for (auto _ : state) {
    peer(inputs[iteration++ % inputs.size()].data(), y.data(), problem.rows, problem.n);
    benchmark::ClobberMemory();
  }
}
template <class T, auto peer>
constexpr auto run_sort = run_peer<T, T, peer>;
template <class T, auto peer>
constexpr auto run_argsort = run_peer<T, std::int64_t, peer>;

template <class T>
void copy(const T* x, T* y, std::int64_t rows, std::int64_t n) {
  std::memcpy(y, x, static_cast<std::size_t>(rows * n) * sizeof(T));
}

constexpr Problem kRows[] = {{4096, 16},  {4096, 64},   {4096, 256},    {4096, 512},    {1024, 1024},
                             {1, 10'000}, {1, 100'000}, {1, 1'000'000}, {1, 10'000'000}};
constexpr Problem kMillion[] = {{1, 1'000'000}};
constexpr Problem kManyBytes[] = {{1, 1'000'000}, {1, 64'000'000}};  // the second exceeds any cache
constexpr Problem kNarrowRows[] = {{4096, 64}, {4096, 256}, {1024, 1024}, {1, 10'000}};
constexpr Problem kFewRows[] = {{4096, 256}, {1, 10'000}, {1, 1'000'000}};
constexpr std::string_view kUpperHalves[] = {"equal upper halves", "runs of equal upper halves"};

constexpr Problem kThousand[] = {{1024, 1024}}, kTensor[] = {{4096, 1024}};

constexpr Variant kOrder{.finds_order = true};
constexpr Contender kContenders[] = {
    {"sort_ours/f32", run_ours<float>, kRows, bench::kUsualOrders},
    {"sort_ours_avx2/f32", run_ours<float, Variant{.is_avx2 = true}>, kRows, bench::kUsualOrders},
    {"sort_ours_dynamic/f32", run_ours<float, Variant{.is_dynamic = true}>, kRows, bench::kRandom},
    {"argsort_ours/f32", run_ours<float, kOrder>, kRows, bench::kUsualOrders},
    {"argsort_ours_avx2/f32", run_ours<float, Variant{.finds_order = true, .is_avx2 = true}>, kRows,
     bench::kUsualOrders},
    {"argsort_ours_dynamic/f32", run_ours<float, Variant{.finds_order = true, .is_dynamic = true}>, kRows,
     bench::kRandom},
    {"sort_ours/f32", run_ours<float>, kFewRows, bench::kHardOrders},
    {"argsort_ours/f32", run_ours<float, kOrder>, kFewRows, bench::kHardOrders},
    {"sort_ours_columns/f32", run_ours<float, Variant{.columns = 1024}>, kThousand, bench::kRandom},
    {"sort_ours_columns_avx2/f32", run_ours<float, Variant{.is_avx2 = true, .columns = 1024}>, kThousand,
     bench::kRandom},
    {"sort_ours_columns_dynamic/f32", run_ours<float, Variant{.is_dynamic = true, .columns = 1024}>, kThousand,
     bench::kRandom},
    {"argsort_ours_columns/f32", run_ours<float, Variant{.finds_order = true, .columns = 1024}>, kThousand,
     bench::kRandom},
    {"sort_ours_columns/f32", run_ours<float, Variant{.columns = 64}>, kTensor, bench::kRandom},
    {"sort_ours/f32", run_ours<float>, kTensor, bench::kRandom},
    {"sort_ours_columns/f16", run_ours<Half, Variant{.columns = 1024}>, kThousand, bench::kRandom},
    {"sort_ours/f16", run_ours<Half>, kThousand, bench::kRandom},
    {"sort_ours_columns/f16", run_ours<Half, Variant{.columns = 64}>, kTensor, bench::kRandom},
    {"sort_ours/f16", run_ours<Half>, kTensor, bench::kRandom},
    {"sort_ours/i32", run_ours<std::int32_t>, kMillion, bench::kRandom},
    {"sort_ours/i64", run_ours<std::int64_t>, kMillion, bench::kRandom},
    {"sort_ours/u64", run_ours<std::uint64_t>, kMillion, bench::kRandom},
    {"sort_ours/f64", run_ours<double>, kMillion, bench::kRandom},
    {"sort_ours/f16", run_ours<Half>, kMillion, bench::kRandom},
    {"sort_ours/bf16", run_ours<BFloat16>, kMillion, bench::kRandom},
    {"sort_ours/u8", run_ours<std::uint8_t>, kManyBytes, bench::kRandom},
    {"sort_ours/i8", run_ours<std::int8_t>, kManyBytes, bench::kRandom},
    {"sort_ours/u8", run_ours<std::uint8_t>, kMillion, bench::kUsualOrders.subspan(1)},
    {"argsort_ours/f16", run_ours<Half, kOrder>, kNarrowRows, bench::kRandom},
    {"argsort_ours/i64", run_ours<std::int64_t, kOrder>, kMillion, bench::kRandom},
    {"argsort_ours/i64", run_ours<std::int64_t, kOrder>, kMillion, kUpperHalves},
#ifdef MILLRACE_PEER_HIGHWAY
    {"sort_vqsort/f32", run_sort<float, peers::highway_sort<float>>, kRows, bench::kUsualOrders},
    {"sort_vqsort_avx2/f32", run_sort<float, peers::highway_sort<float, true>>, kRows, bench::kUsualOrders},
    {"argsort_vqsort/f32", run_argsort<float, peers::highway_argsort<float>>, kRows, bench::kUsualOrders},
    {"argsort_vqsort_avx2/f32", run_argsort<float, peers::highway_argsort<float, true>>, kRows, bench::kUsualOrders},
    {"sort_vqsort/i32", run_sort<std::int32_t, peers::highway_sort<std::int32_t>>, kMillion, bench::kRandom},
    {"sort_vqsort/i64", run_sort<std::int64_t, peers::highway_sort<std::int64_t>>, kMillion, bench::kRandom},
    {"sort_vqsort/u64", run_sort<std::uint64_t, peers::highway_sort<std::uint64_t>>, kMillion, bench::kRandom},
    {"sort_vqsort/f64", run_sort<double, peers::highway_sort<double>>, kMillion, bench::kRandom},
    {"sort_vqsort/f16", run_sort<Half, peers::highway_sort<Half>>, kMillion, bench::kRandom},
    {"sort_vqsort/bf16", run_sort<BFloat16, peers::highway_sort<BFloat16>>, kMillion, bench::kRandom},
    {"argsort_vqsort/i64", run_argsort<std::int64_t, peers::highway_argsort<std::int64_t>>, kMillion, bench::kRandom},
    {"argsort_vqsort/i64", run_argsort<std::int64_t, peers::highway_argsort<std::int64_t>>, kMillion, kUpperHalves},
#endif
    {"sort_std/f32", run_sort<float, peers::std_sort>, kRows, bench::kUsualOrders},
    {"argsort_std/f32", run_argsort<float, peers::std_argsort>, kRows, bench::kUsualOrders},
    {"argsort_radix/f32", run_argsort<float, peers::radix_argsort>, kRows, bench::kUsualOrders},
    {"copy/u8", run_sort<std::uint8_t, copy<std::uint8_t>>, kManyBytes, bench::kRandom},
};

[[maybe_unused]] const bool kRegistered = [] {
#ifdef MILLRACE_PEER_HIGHWAY
  benchmark::AddCustomContext("vqsort's target", peers::highway_target());
#endif
  bench::register_contenders(kContenders);
  return true;
}();

}  // namespace
