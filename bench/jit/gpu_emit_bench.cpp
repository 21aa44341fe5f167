// SPDX-License-Identifier: Apache-2.0
// Emission of one kernel for one GPU target, from the planned kernel to an object that is linked and read back. The
// kernels are those of graphs that together use every GPU algorithm; the last line is the median of all kernels. The
// median and the maximum are CPU times of this process, which other processes hardly affect.
#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include <benchmark/benchmark.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

constexpr const char* kGraphs[] = {
    "graph topk_lanes(%x: f32[4096, 256]) { %v, %i = topk(%x) {k = 8} return v = %v, i = %i }",
    "graph topk_parts(%x: f32[32000]) { %v, %i = topk(%x) {k = 50} return v = %v, i = %i }",
    "graph topk_most(%x: f16[131072]) { %v, %i = topk(%x) {k = 2000} return v = %v, i = %i }",
    "graph topk_select(%x: f32[1000000]) { %v, %i = topk(%x) {k = 5000} return v = %v, i = %i }",
    "graph tile_sort(%x: f32[64, 1024]) { %v, %i = sort(%x) return v = %v, i = %i }",
    "graph radix_sort(%x: i64[1000000]) { %v, %i = sort(%x) return v = %v, i = %i }",
    "graph scan_pieces(%x: f32[1000000]) { %s = cumulative_sum(%x) {axis = 0} return s = %s }",
    "graph scan_columns(%x: bf16[1000, 300]) { %s = cumulative_max(%x) {axis = 0} return s = %s }",
    "graph row_sum(%x: f32[64, 1000]) { %y = reduce_sum(%x) {axes = [1]} return y = %y }",
    "graph argmax(%x: f32[64, 32000]) { %y = argmax(%x) {axis = 1} return y = %y }",
    "graph map(%x: f32[1024, 1024]) { %e = erf(%x) %y = mul(%x, %e) return y = %y }",
    "graph matmul(%x: f32[512, 512], %y: f32[512, 512]) { %z = dot(%x, %y) {x_contract = [1], y_contract = [0]} return "
    "z = %z }",
    "graph conv(%x: f32[1, 64, 56, 56], %w: f32[64, 64, 3, 3]) { %y = conv2d(%x, %w) {padding = [1, 1, 1, 1]} "
    "return y = %y }",
    "graph gather(%x: f32[5000, 64], %i: i32[1000]) { %y = gather(%x, %i) {axis = 0} return y = %y }",
};

/// Seconds, by kernel.
std::map<std::string, double>& times() {
  static std::map<std::string, double> times;
  return times;
}

void emit(benchmark::State& state, const std::string& name, const PlannedKernel& planned, const TargetSpec& spec) {
  const auto generator = make_llvm_generator();
  std::size_t size_bytes = 0;
  const std::clock_t start = std::clock();
  for (auto _ : state) size_bytes = generator->emit(planned, spec).value().bytes.size();
  times()[name] = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / static_cast<double>(state.iterations());
  state.counters["bytes"] = static_cast<double>(size_bytes);
}

void median(benchmark::State& state) {
  std::vector<double> sorted;
  for (const auto& [name, seconds] : times()) sorted.push_back(seconds);
  std::ranges::sort(sorted);
  if (sorted.empty()) return state.SkipWithError("no kernel was emitted");
  for (auto _ : state) state.SetIterationTime(sorted[sorted.size() / 2]);
  state.counters["kernels"] = static_cast<double>(sorted.size());
  state.counters["greatest_ms"] = sorted.back() * 1e3;
}

/// Registers each kernel once, however often the graph runs it.
void register_graph(const Graph& graph, const Target& target) {
  const LoweredGraph lowered = lower_graph(graph, target).value();
  std::set<std::string> seen;
  for (const auto& sequences : lowered.sequences) {
    for (const KernelSequence& sequence : sequences) {
      for (const SequenceKernel& kernel : sequence.kernels) {
        if (!seen.insert(kernel.kernel.key_text).second) continue;
        const std::string name = "gpu_emit/" + graph.name + "/" + kernel.kernel.name + "/" + target.spec().gfx;
        benchmark::RegisterBenchmark(name.c_str(), emit, name, kernel.kernel, target.spec())
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

void register_all() {
  const auto context = make_default_context();
  for (const char* text : kGraphs) {
    const Graph graph = parse_graph(text).value();
    for (const GfxTarget& gfx : gfx_targets()) {
      register_graph(graph, context->target("amdgpu:" + std::string(gfx.name)).value());
    }
  }
  benchmark::RegisterBenchmark("gpu_emit/median", median)
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  millrace::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
