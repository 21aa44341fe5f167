// SPDX-License-Identifier: Apache-2.0
// Compile latency. The first compile of a process is measured in a child of its own for every repetition, with the
// kernel cache empty; this process never opens the LLVM module. `module_ms` is what opening the module costs.
#include <chrono>
#include <dlfcn.h>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "jit/open_llvm_module.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

struct Times {
  double module_ms = 0, first_ms = 0, again_ms = 0, lowering_ms = 0, code_ms = 0, kernels = 0;
};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Graph gelu_graph() {
  GraphBuilder graph("gelu");
  graph.output("y", gelu(graph.input("x", DType::kF32, {1024, 1024})));
  return graph.finish().value();
}

/// Weights are any numbers: they do not decide the code.
Tensor weights(GraphBuilder& graph, const Shape& shape, std::int64_t num_elements) {
  std::mt19937 random(1);
  std::vector<float> values(static_cast<std::size_t>(num_elements));
  for (float& value : values) value = static_cast<float>(random() % 1000) / 4000.0f - 0.125f;
  return graph.constant<float>(shape, values);
}

/// The layers of examples/digits.
Graph digits_graph() {
  GraphBuilder graph("digits");
  Tensor x = graph.input("images", DType::kF32, {1, 1, 8, 8});
  x = relu(conv2d(x, weights(graph, {16, 1, 3, 3}, 144), {.padding = {1, 1, 1, 1}}) +
           broadcast(weights(graph, {16}, 16), {1, 16, 8, 8}, {1}));
  x = relu(conv2d(x, weights(graph, {32, 16, 3, 3}, 4608), {.padding = {1, 1, 1, 1}}) +
           broadcast(weights(graph, {32}, 32), {1, 32, 8, 8}, {1}));
  x = reshape(max_pool2d(x), {1, 512});
  x = relu(matmul(x, weights(graph, {512, 64}, 32768)) + broadcast(weights(graph, {64}, 64), {1, 64}, {1}));
  x = softmax(matmul(x, weights(graph, {64, 10}, 640)) + broadcast(weights(graph, {10}, 10), {1, 10}, {1}));
  const auto [probabilities, classes] = topk(x, 3);
  graph.output("probabilities", probabilities);
  graph.output("classes", classes);
  return graph.finish().value();
}

CompileReport compile_with_llvm(Graph graph, const std::string& device) {
  auto context = std::make_shared<Context>(*make_default_context({.cache_directory = ""}));
  CompileOptions options;
  options.device = device;
  options.context = std::move(context);
  return compile(std::move(graph), options).value().report();
}

Times compile_twice(Graph (*make)(), const std::string& device) {
  Times times;
  double start = now_ms();
  if (dlopen(find_llvm_module().value().c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) std::abort();
  times.module_ms = now_ms() - start;
  Graph first = make(), second = make();
  start = now_ms();
  const CompileReport report = compile_with_llvm(std::move(first), device);
  times.first_ms = now_ms() - start;
  start = now_ms();
  compile_with_llvm(std::move(second), device);
  times.again_ms = now_ms() - start;
  times.lowering_ms = std::chrono::duration<double, std::milli>(report.passes + report.lowering).count();
  times.code_ms = std::chrono::duration<double, std::milli>(report.code).count();
  times.kernels = static_cast<double>(report.num_kernels);
  return times;
}

/// In a fresh process; false when it fails.
bool compile_in_child(Graph (*make)(), const std::string& device, Times& times) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const Times measured = compile_twice(make, device);
    _exit(write(ends[1], &measured, sizeof(measured)) == sizeof(measured) ? 0 : 1);
  }
  close(ends[1]);
  const bool is_read = read(ends[0], &times, sizeof(times)) == sizeof(times);
  close(ends[0]);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_read;
}

void first_compile(benchmark::State& state, Graph (*make)(), const std::string& device) {
  Times sum;
  for (auto _ : state) {
    Times times;
    if (!compile_in_child(make, device, times)) {
      state.SkipWithError("the child failed");
      break;
    }
    state.SetIterationTime(times.first_ms / 1000);
    sum.module_ms += times.module_ms;
    sum.again_ms += times.again_ms;
    sum.lowering_ms += times.lowering_ms;
    sum.code_ms += times.code_ms;
    sum.kernels += times.kernels;
  }
  const auto average = benchmark::Counter::kAvgIterations;
  state.counters["module_ms"] = {sum.module_ms, average};
  state.counters["again_ms"] = {sum.again_ms, average};  // the second compile in the same process, nothing cached
  state.counters["lowering_ms"] = {sum.lowering_ms, average};
  state.counters["code_ms"] = {sum.code_ms, average};
  state.counters["kernels"] = {sum.kernels, average};
}
BENCHMARK_CAPTURE(first_compile, gelu_avx512, gelu_graph, "cpu:avx512")->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(first_compile, gelu_avx2, gelu_graph, "cpu:avx2")->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(first_compile, gelu_baseline, gelu_graph, "cpu:baseline")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(first_compile, digits, digits_graph, "cpu")->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace
