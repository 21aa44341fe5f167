// SPDX-License-Identifier: Apache-2.0
// Softmax and norms over rows on one thread, rotating 16 inputs, compared with Eigen's softmax and with the time that a
// copy of the same elements takes. The name of a benchmark is op/shape.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <benchmark/benchmark.h>

#include "bench/ops/peers/eigen_softmax.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;

using Sizes = std::vector<std::int64_t>;

constexpr int kInputs = 16;
constexpr std::size_t kLineBytes = 64;

struct Case {
  const char* name;
  Sizes shape;
  std::function<Tensor(GraphBuilder&, Tensor x)> build;
  DType dtype = DType::kF32;
};

/// A buffer that begins at a cache line.
using Buffer = std::unique_ptr<std::byte, decltype(&std::free)>;
Buffer allocate(std::size_t bytes) {
  const std::size_t lines = (bytes + kLineBytes - 1) / kLineBytes;
  Buffer buffer(static_cast<std::byte*>(std::aligned_alloc(kLineBytes, lines * kLineBytes)), &std::free);
  std::memset(buffer.get(), 0, lines * kLineBytes);
  return buffer;
}

std::int64_t elements(const Sizes& shape) {
  std::int64_t all = 1;
  for (const std::int64_t extent : shape) all *= extent;
  return all;
}

/// Normal values of the dtype, which is f32, f16 or bf16.
std::vector<Buffer> inputs(const Sizes& shape, DType dtype) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<Buffer> all;
  for (int i = 0; i < kInputs; ++i) {
    all.push_back(allocate(static_cast<std::size_t>(elements(shape)) * size_bytes(dtype)));
    for (std::int64_t k = 0; k < elements(shape); ++k) {
      const float value = normal(random);
      std::byte* const at = all.back().get() + static_cast<std::size_t>(k) * size_bytes(dtype);
      if (dtype == DType::kF32) std::memcpy(at, &value, sizeof(value));
      const std::uint16_t narrow = dtype == DType::kF16 ? Half(value).bits : BFloat16(value).bits;
      if (dtype != DType::kF32) std::memcpy(at, &narrow, sizeof(narrow));
    }
  }
  return all;
}

Tensor half(GraphBuilder& graph, DType dtype, std::int64_t n) {
  return cast(graph.constant({n}, std::vector<float>(static_cast<std::size_t>(n), .5f)), dtype);
}

std::vector<Case> all_cases() {
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
  std::vector<Case> cases;
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

void run(benchmark::State& state, const Case& one) {
  GraphBuilder graph("rows");
  graph.output("y", one.build(graph, graph.input("x", one.dtype,
                                                 Shape(std::vector<SizeExpr>(one.shape.begin(), one.shape.end())))));
  Session session = Session::create(compile(graph.finish().value(), {.device = "cpu:threads=1"}).value()).value();
  const std::vector<Buffer> all = inputs(one.shape, one.dtype);
  const std::size_t bytes = static_cast<std::size_t>(elements(one.shape)) * size_bytes(one.dtype);
  const Buffer y = allocate(bytes);
  std::size_t iteration = 0;
  for (auto _ : state) {
    const TensorBinding in[] = {{all[iteration++ % kInputs].get(), bytes}}, out[] = {{y.get(), bytes}};
    if (const Status status = session.run(in, out); !status.ok()) return state.SkipWithError(status.message().c_str());
  }
  state.SetBytesProcessed(state.iterations() * 2 * static_cast<std::int64_t>(bytes));
}

void run_eigen(benchmark::State& state, const Sizes& shape) {
  const std::vector<Buffer> all = inputs(shape, DType::kF32);
  std::vector<float> y(static_cast<std::size_t>(elements(shape)));
  std::size_t iteration = 0;
  for (auto _ : state) {
    const auto* x = reinterpret_cast<const float*>(all[iteration++ % kInputs].get());
    peers::eigen_softmax(x, y.data(), shape[0], shape[1]);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 8 * elements(shape));
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
  const std::vector<Buffer> all = inputs(shape, DType::kF32);
  const std::size_t bytes = static_cast<std::size_t>(elements(shape)) * sizeof(float);
  const Buffer y = allocate(bytes);
  std::size_t iteration = 0;
  for (auto _ : state) {
    const std::byte* x = all[iteration++ % kInputs].get();
    if (streams) stream(y.get(), x, bytes);
    if (!streams) std::memcpy(y.get(), x, bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * static_cast<std::int64_t>(bytes));
}

std::string name_of(std::string name, const Sizes& shape) {
  char separator = '/';
  for (const std::int64_t extent : shape) {
    name += separator + std::to_string(extent);
    separator = 'x';
  }
  return name;
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Case& one : all_cases()) {
    const std::string name = name_of(std::string(one.name) + "_" + std::string(to_text(one.dtype)), one.shape);
    benchmark::RegisterBenchmark(name.c_str(), run, one);
  }
  for (const std::int64_t rows : {128, 4096}) {
    const Sizes shape = {rows, 1024};
    benchmark::RegisterBenchmark(name_of("softmax_eigen", shape).c_str(), run_eigen, shape);
    benchmark::RegisterBenchmark(name_of("limit_copy", shape).c_str(), run_copy, shape, false);
    benchmark::RegisterBenchmark(name_of("limit_streamed_copy", shape).c_str(), run_copy, shape, true);
  }
  return true;
}();

}  // namespace
