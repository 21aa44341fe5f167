// SPDX-License-Identifier: Apache-2.0
// Benchmarks of small graphs with one input, on one thread, rotating 16 inputs.
#pragma once

#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/millrace.h"

namespace millrace::bench {

using Sizes = std::vector<std::int64_t>;

struct GraphCase {
  const char* name;
  Sizes shape;  // of x
  std::function<Tensor(GraphBuilder&, Tensor x)> build;
  DType dtype = DType::kF32;
};

inline constexpr int kInputs = 16;
inline constexpr std::size_t kLineBytes = 64;

inline std::int64_t num_elements(const Sizes& shape) {
  std::int64_t all = 1;
  for (const std::int64_t extent : shape) all *= extent;
  return all;
}

inline std::size_t bytes_of(const Sizes& shape, DType dtype) {
  return static_cast<std::size_t>(num_elements(shape)) * size_bytes(dtype);
}

/// Memory that begins at a cache line.
using Lines = std::unique_ptr<std::byte, decltype(&std::free)>;
inline Lines allocate(std::size_t bytes) {
  const std::size_t lines = (bytes + kLineBytes - 1) / kLineBytes;
  Lines buffer(static_cast<std::byte*>(std::aligned_alloc(kLineBytes, lines * kLineBytes)), &std::free);
  std::memset(buffer.get(), 0, lines * kLineBytes);
  return buffer;
}

/// kInputs tensors of normal values; bits at random if the dtype is neither f32, f16 nor bf16.
inline std::vector<Lines> make_inputs(const Sizes& shape, DType dtype) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const std::size_t size = size_bytes(dtype);
  std::vector<Lines> all;
  for (int i = 0; i < kInputs; ++i) {
    all.push_back(allocate(bytes_of(shape, dtype)));
    std::byte* at = all.back().get();
    for (std::int64_t k = 0; k < num_elements(shape); ++k, at += size) {
      const float value = normal(random);
      const std::uint64_t bits = dtype == DType::kF32    ? std::bit_cast<std::uint32_t>(value)
                                 : dtype == DType::kF16  ? Half(value).bits
                                 : dtype == DType::kBF16 ? BFloat16(value).bits
                                                         : random();
      std::memcpy(at, &bits, size);
    }
  }
  return all;
}

inline void run_case(benchmark::State& state, const GraphCase& one) {
  GraphBuilder graph(one.name);
  const Shape shape(std::vector<SizeExpr>(one.shape.begin(), one.shape.end()));
  const Tensor y = one.build(graph, graph.input("x", one.dtype, shape));
  graph.output("y", y);
  const std::size_t in_bytes = bytes_of(one.shape, one.dtype);
  const std::size_t out_bytes = static_cast<std::size_t>(y.shape().num_elements().constant()) * size_bytes(y.dtype());
  Session session = Session::create(compile(graph.finish().value(), {.device = "cpu:threads=1"}).value()).value();
  const std::vector<Lines> inputs = make_inputs(one.shape, one.dtype);
  const Lines result = allocate(out_bytes);
  std::size_t iteration = 0;
  for (auto _ : state) {
    const TensorBinding in[] = {{inputs[iteration++ % kInputs].get(), in_bytes}}, out[] = {{result.get(), out_bytes}};
    if (const Status status = session.run(in, out); !status.ok()) return state.SkipWithError(status.message().c_str());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(in_bytes + out_bytes));
}

/// "softmax_f32/128x1024"
inline std::string name_of(const std::string& name, const Sizes& shape) {
  std::string text = name;
  char separator = '/';
  for (const std::int64_t extent : shape) {
    text += separator + std::to_string(extent);
    separator = 'x';
  }
  return text;
}

/// Registers the case as name_dtype/shape.
inline void register_case(const GraphCase& one) {
  const std::string name = name_of(std::string(one.name) + "_" + std::string(to_text(one.dtype)), one.shape);
  benchmark::RegisterBenchmark(name.c_str(), run_case, one);
}

}  // namespace millrace::bench
