// SPDX-License-Identifier: Apache-2.0
// Softmax and norms over rows on one thread, rotating 16 inputs, compared with Eigen's softmax and with the time that a
// copy, or reading the same elements, takes. The name of a benchmark is op/shape.
#include <cstring>
#include <string>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <benchmark/benchmark.h>

#include "bench/ops/graph_case.h"
#include "bench/ops/peers/eigen_softmax.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;
using namespace millrace::bench;

Tensor half(GraphBuilder& graph, DType dtype, std::int64_t n) {
  return cast(graph.constant({n}, std::vector<float>(static_cast<std::size_t>(n), .5f)), dtype);
}

std::vector<GraphCase> all_cases() {
  const auto softmax_along = [](std::int64_t axis) {
    return [axis](GraphBuilder&, Tensor x) { return softmax(x, axis); };
  };
  const auto layer = [](GraphBuilder& graph, Tensor x) {
    const std::int64_t n = x.shape()[1].constant();
    return layer_norm(x, half(graph, x.dtype(), n), half(graph, x.dtype(), n));
  };
  const auto rms = [](GraphBuilder& graph, Tensor x) {
    return rms_norm(x, half(graph, x.dtype(), x.shape()[1].constant()));
  };
  const auto group = [](GraphBuilder& graph, Tensor x) {
    const std::int64_t channels = x.shape()[1].constant();
    return group_norm(x, 32, half(graph, x.dtype(), channels), half(graph, x.dtype(), channels));
  };
  const auto add = [](GraphBuilder&, Tensor x) { return x + x; };
  std::vector<GraphCase> cases;
  for (const std::int64_t rows : {128, 4096}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      cases.push_back({"softmax", {rows, 1024}, softmax_along(1), dtype});
      cases.push_back({"layer_norm", {rows, 1024}, layer, dtype});
      cases.push_back({"rms_norm", {rows, 1024}, rms, dtype});
      cases.push_back({"add", {rows, 1024}, add, dtype});
    }
  }
  cases.push_back({"softmax_axis_1", {64, 512, 32}, softmax_along(1)});
  cases.push_back({"softmax_axis_0", {4096, 1024}, softmax_along(0)});
  cases.push_back({"softmax", {65536, 8}, softmax_along(1)});
  cases.push_back({"softmax", {16384, 64}, softmax_along(1)});
  cases.push_back({"softmax", {64, 32768}, softmax_along(1)});
  cases.push_back({"group_norm", {1, 64, 56, 56}, group});
  cases.push_back({"group_norm", {32, 64, 56, 56}, group});
  return cases;
}

void run_eigen(benchmark::State& state, const Sizes& shape) {
  const std::vector<Lines> all = make_inputs(shape, DType::kF32);
  std::vector<float> y(static_cast<std::size_t>(num_elements(shape)));
  std::size_t iteration = 0;
  for (auto _ : state) {
    const auto* x = reinterpret_cast<const float*>(all[iteration++ % kInputs].get());
    peers::eigen_softmax(x, y.data(), shape[0], shape[1]);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 8 * num_elements(shape));
}

/// Copies with stores that bypass the caches.
void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  for (std::size_t i = 0; i < bytes; i += sizeof(__m128i)) {
    const __m128i value = _mm_load_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), value);
  }
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

void run_copy(benchmark::State& state, const Sizes& shape, bool streams) {
  const std::vector<Lines> all = make_inputs(shape, DType::kF32);
  const std::size_t bytes = static_cast<std::size_t>(num_elements(shape)) * sizeof(float);
  const Lines y = allocate(bytes);
  std::size_t iteration = 0;
  for (auto _ : state) {
    const std::byte* x = all[iteration++ % kInputs].get();
    if (streams) stream(y.get(), x, bytes);
    if (!streams) std::memcpy(y.get(), x, bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * static_cast<std::int64_t>(bytes));
}

/// The sum of all words, which takes no longer than reading them.
std::uint32_t read_all(const std::byte* from, std::size_t bytes) {
  std::uint32_t sum = 0;
#if defined(__SSE2__)
  constexpr std::size_t kSums = 4;
  __m128i sums[kSums] = {};
  for (std::size_t i = 0; i < bytes; i += kSums * sizeof(__m128i)) {
    for (std::size_t j = 0; j < kSums; ++j) {
      const auto* at = reinterpret_cast<const __m128i*>(from + i + j * sizeof(__m128i));
      sums[j] = _mm_add_epi32(sums[j], _mm_load_si128(at));
    }
  }
  for (const __m128i& each : sums) sum += static_cast<std::uint32_t>(_mm_cvtsi128_si32(each));
#else
  for (std::size_t i = 0; i < bytes; ++i) sum += static_cast<std::uint32_t>(from[i]);
#endif
  return sum;
}

void run_read(benchmark::State& state, const Sizes& shape) {
  const std::vector<Lines> all = make_inputs(shape, DType::kF32);
  const std::size_t bytes = static_cast<std::size_t>(num_elements(shape)) * sizeof(float);
  std::size_t iteration = 0;
  for (auto _ : state) benchmark::DoNotOptimize(read_all(all[iteration++ % kInputs].get(), bytes));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const GraphCase& one : all_cases()) register_case(one);
  for (const std::int64_t rows : {128, 4096}) {
    const Sizes shape = {rows, 1024};
    benchmark::RegisterBenchmark(name_of("softmax_eigen", shape).c_str(), run_eigen, shape);
    benchmark::RegisterBenchmark(name_of("limit_copy", shape).c_str(), run_copy, shape, false);
    benchmark::RegisterBenchmark(name_of("limit_streamed_copy", shape).c_str(), run_copy, shape, true);
    benchmark::RegisterBenchmark(name_of("limit_read", shape).c_str(), run_read, shape);
  }
  return true;
}();

}  // namespace
