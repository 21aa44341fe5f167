// SPDX-License-Identifier: Apache-2.0
// Emission of one kernel for one GPU target: from the planned kernel to an object that was linked and read back.
#include <benchmark/benchmark.h>

#include "millrace/jit/code_object.h"
#include "tests/support/gpu_kernels.h"

namespace millrace {
namespace {

void emit(benchmark::State& state, const test::GpuTestKernel& kernel, const GfxTarget& gfx) {
  const TargetSpec spec{.family = "amdgpu", .gfx = std::string(gfx.name)};
  const auto generator = make_llvm_generator();
  const MachineKernel built = kernel.build(kernel.dtypes.front(), gfx.subgroup_size);
  const PlannedKernel planned = generator->plan(built, spec).value();
  std::size_t size_bytes = 0;
  for (auto _ : state) size_bytes = generator->emit(planned, spec).value().bytes.size();
  state.counters["bytes"] = static_cast<double>(size_bytes);
}

void register_all() {
  for (const test::GpuTestKernel& kernel : test::gpu_test_kernels()) {
    for (const GfxTarget& gfx : gfx_targets()) {
      const std::string name = "gpu_emit/" + std::string(kernel.name) + "/" + std::string(gfx.name);
      benchmark::RegisterBenchmark(name.c_str(), emit, kernel, gfx)->Unit(benchmark::kMillisecond);
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
