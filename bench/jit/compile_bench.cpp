// SPDX-License-Identifier: Apache-2.0
// Compile latency in fresh processes: every repetition is a new child, and this process never opens the LLVM module.
// `module_ms` is the cost of opening the module; if it is absent, the child has not opened it.
#include <chrono>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "jit/llvm_client/open_module.h"
#include "millrace/graph/compile_report.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

struct Times {
  double module_ms = 0, first_ms = 0, again_ms = 0, lowering_ms = 0, code_ms = 0, kernels = 0;
  bool has_llvm = false;
};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Graph gelu_graph() {
  GraphBuilder graph("gelu");
  graph.output("y", gelu(graph.input("x", DType::kF32, {1024, 1024})));
  return graph.finish().value();
}

Graph contraction_graph() {
  GraphBuilder graph("contraction");
  const Tensor x = graph.input("x", DType::kF32, {512, 512}), y = graph.input("y", DType::kF32, {512, 512});
  graph.output("z", relu(matmul(x, y)));
  return graph.finish().value();
}

/// Weights are arbitrary numbers, because the code does not depend on them.
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

/// The bound of symbolic rows. The sorts in SIMD lanes accept rows of this length.
const SizeExpr kAnyLength = Dim("n").at_most(1 << 30);

template <std::int64_t n>
Shape rows_of() {
  return {Dim("rows"), n > 0 ? SizeExpr(n) : kAnyLength};
}
/// n is 0 if a run binds it.
template <DType dtype, std::int64_t n>
Graph sort_graph() {
  GraphBuilder graph("sort");
  graph.output("y", sort(graph.input("x", dtype, rows_of<n>())).values);
  return graph.finish().value();
}
template <DType dtype, std::int64_t n>
Graph argsort_graph() {
  GraphBuilder graph("argsort");
  graph.output("y", sort(graph.input("x", dtype, rows_of<n>())).indices);
  return graph.finish().value();
}
/// k is 0 if a run binds it.
template <DType dtype, std::int64_t n, std::int64_t k>
Graph topk_graph() {
  GraphBuilder graph("topk");
  const SizeExpr any_k = Dim("k").at_most(1024);
  const auto [values, indices] = topk(graph.input("x", dtype, rows_of<n>()), k > 0 ? SizeExpr(k) : any_k);
  graph.output("values", values);
  graph.output("indices", indices);
  return graph.finish().value();
}

struct CompileCase {
  Graph (*graph)();
  std::string device = "cpu:threads=1";
  std::string cache_directory = "";  // empty: nothing is cached when the process starts
  bool opens_module = false;         // opens the LLVM module before the clock starts
};

CompileReport compile_case(Graph graph, const CompileCase& what) {
  CompileOptions options;
  options.device = what.device;
  options.context = make_default_context({.cache_directory = what.cache_directory});
  return compile(std::move(graph), options).value().report();
}

bool maps_llvm() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libLLVM") != std::string::npos) return true;
  }
  return false;
}

Times compile_twice(const CompileCase& what) {
  Times times;
  double start = now_ms();
  if (what.opens_module && dlopen(find_llvm_module().value().c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) std::abort();
  times.module_ms = now_ms() - start;
  Graph first = what.graph(), second = what.graph();
  start = now_ms();
  const CompileReport report = compile_case(std::move(first), what);
  times.first_ms = now_ms() - start;
  start = now_ms();
  compile_case(std::move(second), what);
  times.again_ms = now_ms() - start;
  times.lowering_ms =
      std::chrono::duration<double, std::milli>(report.passes + report.forming + report.lowering + report.scheduling)
          .count();
  times.code_ms = std::chrono::duration<double, std::milli>(report.code).count();
  times.kernels = static_cast<double>(report.num_kernels);
  times.has_llvm = maps_llvm();
  return times;
}

/// Compiles in a fresh process; false if that fails.
bool compile_in_child(const CompileCase& what, Times& times) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const Times measured = compile_twice(what);
    _exit(write(ends[1], &measured, sizeof(measured)) == sizeof(measured) ? 0 : 1);
  }
  close(ends[1]);
  const bool is_read = read(ends[0], &times, sizeof(times)) == sizeof(times);
  close(ends[0]);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_read;
}

void first_compile(benchmark::State& state, const CompileCase& what) {
  Times sum;
  for (auto _ : state) {
    Times times;
    if (!compile_in_child(what, times)) return state.SkipWithError("the child failed");
    if (times.has_llvm != what.opens_module) return state.SkipWithError("the wrong generator compiled");
    state.SetIterationTime(times.first_ms / 1000);
    sum.module_ms += times.module_ms;
    sum.again_ms += times.again_ms;
    sum.lowering_ms += times.lowering_ms;
    sum.code_ms += times.code_ms;
    sum.kernels += times.kernels;
  }
  const auto average = benchmark::Counter::kAvgIterations;
  if (what.opens_module) state.counters["module_ms"] = {sum.module_ms, average};
  state.counters["again_ms"] = {sum.again_ms, average};  // a second compile in the same process, in another context
  state.counters["lowering_ms"] = {sum.lowering_ms, average};
  state.counters["code_ms"] = {sum.code_ms, average};
  state.counters["kernels"] = {sum.kernels, average};
}

/// Compiles with every kernel in a cache on disk that another process has written.
void compile_from_disk(benchmark::State& state, Graph (*graph)()) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("millrace-compile-bench-" + std::to_string(getpid()));
  const CompileCase what{.graph = graph, .cache_directory = directory.string()};
  Times times;
  compile_in_child(what, times);
  first_compile(state, what);
  std::filesystem::remove_all(directory);
}

void register_benchmarks() {
  const auto add = [](const char* name, const CompileCase& what) {
    benchmark::RegisterBenchmark(name, [what](benchmark::State& state) { first_compile(state, what); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  };
  const auto add_from_disk = [](const char* name, Graph (*graph)()) {
    benchmark::RegisterBenchmark(name, [graph](benchmark::State& state) { compile_from_disk(state, graph); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  };
  add("gelu_avx512", {.graph = gelu_graph, .device = "cpu:avx512,threads=1", .opens_module = true});
  add("gelu_avx2", {.graph = gelu_graph, .device = "cpu:avx2,threads=1", .opens_module = true});
  add("gelu_baseline", {.graph = gelu_graph, .device = "cpu:baseline,threads=1", .opens_module = true});
  add("contraction_by_xbyak", {.graph = contraction_graph});
  add("sort_f32_256", {.graph = sort_graph<DType::kF32, 256>});
  add("sort_f32_1000000", {.graph = sort_graph<DType::kF32, 1'000'000>});
  add("sort_f32_dynamic", {.graph = sort_graph<DType::kF32, 0>});
  add("sort_f16_dynamic", {.graph = sort_graph<DType::kF16, 0>});
  add("sort_u64_dynamic", {.graph = sort_graph<DType::kU64, 0>});
  add("argsort_f32_256", {.graph = argsort_graph<DType::kF32, 256>});
  add("argsort_f32_dynamic", {.graph = argsort_graph<DType::kF32, 0>});
  add("argsort_i64_dynamic", {.graph = argsort_graph<DType::kI64, 0>});
  add("argsort_f32_dynamic_avx2", {.graph = argsort_graph<DType::kF32, 0>, .device = "cpu:avx2,threads=1"});
  add("topk_f32_32000_k50", {.graph = topk_graph<DType::kF32, 32000, 50>});
  add("topk_f32_256_k8", {.graph = topk_graph<DType::kF32, 256, 8>});
  add("topk_f32_dynamic", {.graph = topk_graph<DType::kF32, 0, 0>});
  add("topk_i64_dynamic", {.graph = topk_graph<DType::kI64, 0, 0>});
  add("topk_f32_dynamic_avx2", {.graph = topk_graph<DType::kF32, 0, 0>, .device = "cpu:avx2,threads=1"});
  add("digits", {.graph = digits_graph, .opens_module = true});
  add_from_disk("gelu_from_disk", gelu_graph);
  add_from_disk("digits_from_disk", digits_graph);
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  millrace::register_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
