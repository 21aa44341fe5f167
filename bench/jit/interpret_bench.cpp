// SPDX-License-Identifier: Apache-2.0
// How fast kernels are interpreted, in lane instructions per second: unobserved, and observed by a simulated device.
#include <numeric>

#include <benchmark/benchmark.h>

#include "hal/host/host_buffer.h"
#include "hal/sim/sim_observer.h"
#include "millrace/jit/interpret.h"
#include "tests/support/gpu/workgroup_kernels.h"

namespace millrace {
namespace {

constexpr test::WorkgroupShape kShape{256, 32};
constexpr std::uint32_t kNumGroups = 16;

/// y[i] = x[i] * x[i] + x[i], 16 times over: much arithmetic, few memory accesses.
MachineKernel polynomial_kernel() {
  MachineBuilder b("polynomial");
  b.set_workgroup(kShape.num_threads, kShape.subgroup_size);
  const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead),
                     y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
  const MachineValue first = b.mul(b.workgroup_id(), b.i64(kShape.num_threads));
  const MachineValue i = b.add(first, b.convert(DType::kI64, b.thread_id()));
  MachineValue value = b.load(x, i);
  for (int iteration = 0; iteration < 16; ++iteration) value = b.mul_add(value, value, value);
  b.store(y, i, value);
  return b.finish();
}

MachineKernel sort_kernel() { return test::bitonic_sort_kernel(kShape, 1024); }
MachineKernel reduce_kernel() { return test::reduction_kernel(kShape); }
MachineKernel scan_kernel() { return test::prefix_sum_kernel(kShape); }

/// A kernel, and buffers that are large enough for any of the kernels above.
class Launch {
 public:
  explicit Launch(const MachineKernel& machine) {
    MemoryPlan plan = plan_memory(machine, target_).value();
    kernel_ = make_interpreted_kernel(machine, std::move(plan));
    for (std::size_t i = 0; i < machine.buffers.size(); ++i) {
      buffers_.emplace_back(1024 * kNumGroups);
      std::iota(buffers_[i].begin(), buffers_[i].end(), 0u);
      pointers_.push_back(buffers_[i].data());
    }
    args_ = {&status_, workgroup_memory_->host_address(), pointers_.data(), &size_};
  }

  Status run() { return kernel_->run(args_, 0, kNumGroups); }

  Result<SimCounts> run_observed() {
    const ObservedBuffer buffer = ObservedBuffer::whole(buffers_[0].size() * 4);
    SimObserver observer(target_, std::vector<ObservedBuffer>(buffers_.size(), buffer));
    MILLRACE_TRY(kernel_->run_observed(args_, 0, kNumGroups, {.observer = &observer}));
    return observer.counts();
  }

 private:
  TargetSpec target_ = TargetSpec::parse("sim:gfx1100").value();
  std::shared_ptr<const HostKernel> kernel_;
  std::vector<std::vector<std::uint32_t>> buffers_;
  std::vector<void*> pointers_;
  std::shared_ptr<Buffer> workgroup_memory_ = allocate_host_buffer(64 * 1024).value();
  std::int64_t size_ = kShape.num_threads * kNumGroups;
  std::uint32_t status_ = 0;
  KernelArgs args_{};
};

void interpret(benchmark::State& state, MachineKernel (*build)(), bool is_observed) {
  Launch launch(build());
  const Result<SimCounts> counts = launch.run_observed();
  if (!counts.ok()) return state.SkipWithError(counts.status().message().c_str());
  for (auto _ : state) {
    if (!(is_observed ? launch.run_observed().status() : launch.run()).ok()) return state.SkipWithError("a run failed");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(counts->lane_instructions) * state.iterations());
}

BENCHMARK_CAPTURE(interpret, polynomial, polynomial_kernel, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, polynomial_observed, polynomial_kernel, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, reduction, reduce_kernel, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, reduction_observed, reduce_kernel, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, prefix_sum, scan_kernel, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, prefix_sum_observed, scan_kernel, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, bitonic_sort, sort_kernel, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, bitonic_sort_observed, sort_kernel, true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace
