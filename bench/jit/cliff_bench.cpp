// SPDX-License-Identifier: Apache-2.0
// Code generation for the graphs of tests/cliff_cases.h at each ISA level. The reported time is that of the slowest
// kernel. A kernel must take at most 100 ms and 64 KiB of code. Times are CPU times of the process, which other
// processes hardly affect.
#include <algorithm>
#include <ctime>
#include <set>

#include <benchmark/benchmark.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/cliff_cases.h"

namespace millrace {
namespace {

struct Worst {
  double seconds = 0;
  std::size_t code_bytes = 0;
  std::set<std::string> kernels;
};

Status emit_sequence(const KernelSequence& sequence, const Target& target, Worst& worst) {
  for (const SequenceKernel& entry : sequence.kernels) {
    const PlannedKernel& planned = entry.kernel;
    if (!worst.kernels.insert(planned.generator + planned.key_text).second) continue;
    const std::clock_t start = std::clock();
    MILLRACE_TRY_ASSIGN(const ExecutableImage image,
                        target.find_generator(planned.generator)->emit(planned, target.spec()));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    worst.seconds = std::max(worst.seconds, seconds);
    worst.code_bytes = std::max<std::size_t>(worst.code_bytes, image.code_bytes);
  }
  return {};
}

void emit_case(benchmark::State& state, const test::CliffCase& row, const std::string& level) {
  const Target target = make_default_context()->target(level).value();
  const auto lowered = lower_graph(parse_graph(row.graph).value(), target);
  if (!lowered.ok()) return state.SkipWithError(lowered.status().message().c_str());
  Worst worst;
  for (auto _ : state) {
    worst = {};
    for (const auto& sequences : lowered->sequences) {
      for (const KernelSequence& sequence : sequences) {
        const Status status = emit_sequence(sequence, target, worst);
        if (!status.ok()) return state.SkipWithError(status.message().c_str());
      }
    }
    state.SetIterationTime(worst.seconds);
  }
  state.counters["bytes"] = static_cast<double>(worst.code_bytes);
  state.counters["kernels"] = static_cast<double>(worst.kernels.size());
}

void register_all() {
  for (const test::CliffCase& row : test::cliff_cases()) {
    for (const char* level : {"cpu:baseline", "cpu:avx2", "cpu:avx512", "amdgpu:gfx1100", "amdgpu:gfx90a"}) {
      benchmark::RegisterBenchmark((row.name + "/" + level).c_str(),
                                   [row, level](benchmark::State& state) { emit_case(state, row, level); })
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    }
  }
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
