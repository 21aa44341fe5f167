// SPDX-License-Identifier: Apache-2.0
// Sums of f32 on one and on two threads, compared with the time that plain C++ needs to read the same number of
// elements: op/sizes/threads. Items are elements of the operands.
#include <bit>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/millrace.h"

namespace {

using namespace millrace;

struct Case {
  const char* name;
  Extents shape;
  std::function<Tensor(GraphBuilder&, Tensor x)> build;
};

Tensor constant_of(GraphBuilder& graph, std::int64_t n) {
  return graph.constant({n}, std::vector<float>(static_cast<std::size_t>(n), .5f));
}

std::vector<Case> all_cases() {
  const auto sum = [](std::vector<std::int64_t> axes) {
    return [axes](GraphBuilder&, Tensor x) { return reduce_sum(x, axes); };
  };
  const auto mean = [](std::vector<std::int64_t> axes) {
    return [axes](GraphBuilder&, Tensor x) { return reduce_mean(x, axes); };
  };
  const auto norm = [](GraphBuilder& graph, Tensor x) {
    const std::int64_t n = x.shape()[1].constant();
    return layer_norm(x, constant_of(graph, n), constant_of(graph, n));
  };
  const auto weigh = [](GraphBuilder& graph, Tensor x) {
    return reduce_sum(x * constant_of(graph, x.shape()[1].constant()), {1});
  };
  const auto scan = [](std::int64_t axis) {
    return [axis](GraphBuilder&, Tensor x) { return cumulative_sum(x, {.axis = axis}); };
  };
  return {{"sum_rows", {4096, 1024}, sum({1})},
          {"sum_rows", {16384, 64}, sum({1})},
          {"sum_rows", {4, 1'000'000}, sum({1})},
          {"sum_columns", {4096, 1024}, sum({0})},
          {"sum_columns", {1'000'000, 4}, sum({0})},
          {"sum_all", {1024, 1024}, sum({0, 1})},
          {"sum_all", {1, 10'000'000}, sum({0, 1})},
          {"mean_rows", {4096, 1024}, mean({1})},
          {"mean_columns", {4096, 1024}, mean({0})},
          {"softmax", {4096, 1024}, [](GraphBuilder&, Tensor x) { return softmax(x); }},
          {"layer_norm", {4096, 768}, norm},
          {"layer_norm", {128, 768}, norm},
          {"dot", {1, 1'000'000}, weigh},
          {"dot", {1024, 1024}, weigh},
          {"scan_rows", {4096, 1024}, scan(1)},
          {"scan_rows", {1, 10'000'000}, scan(1)},
          {"scan_columns", {4096, 1024}, scan(0)}};
}

std::vector<float> input_of(const Extents& shape) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> input(static_cast<std::size_t>(shape[0] * shape[1]));
  for (float& value : input) value = normal(random);
  return input;
}

void run(benchmark::State& state, const Case& one, int threads) {
  GraphBuilder graph("sums");
  const Tensor x = graph.input("x", DType::kF32, {one.shape[0], one.shape[1]});
  const Tensor result = one.build(graph, x);
  graph.output("y", result);
  std::vector<float> output(static_cast<std::size_t>(size_bytes(result.type()).constant()) / sizeof(float));
  const std::string device = "cpu:threads=" + std::to_string(threads);
  Session session = Session::create(compile(graph.finish().value(), {.device = device}).value()).value();
  const std::vector<float> input = input_of(one.shape);
  const TensorBinding in[] = {bind(input)}, out[] = {bind(output)};
  for (auto _ : state) {
    if (const Status status = session.run(in, out); !status.ok()) return state.SkipWithError(status.message().c_str());
  }
  state.SetItemsProcessed(state.iterations() * one.shape[0] * one.shape[1]);
}

/// The exclusive or of all bits: as many loads as a sum, but no latency of additions.
std::uint32_t read(const float* from, const float* end) {
  std::uint32_t bits = 0;
  for (; from != end; ++from) bits ^= std::bit_cast<std::uint32_t>(*from);
  return bits;
}

void run_read(benchmark::State& state, std::int64_t n, int threads) {
  const std::vector<float> input = input_of({1, n});
  const float* const middle = input.data() + (threads == 1 ? 0 : n / 2);
  for (auto _ : state) {
    std::uint32_t other = 0;
    std::jthread helper;
    if (threads == 2) helper = std::jthread([&] { other = read(input.data(), middle); });
    benchmark::DoNotOptimize(read(middle, input.data() + n));
    if (threads == 2) helper.join();
    benchmark::DoNotOptimize(other);
  }
  state.SetItemsProcessed(state.iterations() * n);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const int threads : {1, 2}) {
    for (const Case& one : all_cases()) {
      const std::string name = std::string(one.name) + "/" + std::to_string(one.shape[0]) + "x" +
                               std::to_string(one.shape[1]) + "/" + std::to_string(threads);
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        run(state, one, threads);
      })->UseRealTime();
    }
    for (const std::int64_t n : {1024 * 1024, 10'000'000}) {
      const std::string name = "read/1x" + std::to_string(n) + "/" + std::to_string(threads);
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        run_read(state, n, threads);
      })->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
