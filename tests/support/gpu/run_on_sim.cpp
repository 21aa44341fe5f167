// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/run_on_sim.h"

#include "millrace/base/check.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace::test {

CommandList record_launch(const KernelInfo& info, const SimLaunch& launch) {
  CommandList list;
  DispatchCommand dispatch{.kernel = list.kernels.push_back(info), .num_groups = list.add_size(launch.num_groups)};
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    const SizeIndex bytes = list.add_size(static_cast<std::int64_t>(launch.buffers[i].size_bytes));
    const BindingKind kind = info.buffer_is_written[i] ? BindingKind::kOutput : BindingKind::kInput;
    const BindingIndex binding =
        list.bindings.push_back({.name = std::to_string(i), .kind = kind, .size_bytes = bytes});
    dispatch.buffers.push_back({.binding = binding, .offset_bytes = list.add_size(0), .length_bytes = bytes});
  }
  for (const std::int64_t size : launch.sizes) dispatch.sizes.push_back(list.add_size(size));
  list.commands.emplace_back(std::move(dispatch));
  return list;
}

namespace {

Result<SimCounts> run(const MachineKernel& kernel, const SimLaunch& launch, const std::shared_ptr<Semaphore>& done) {
  MILLRACE_TRY_ASSIGN(const TargetSpec spec, TargetSpec::parse(launch.target));
  const auto generator = make_interpreter_generator();
  MILLRACE_TRY_ASSIGN(const PlannedKernel planned, generator->plan(kernel, spec));
  const std::vector<ExecutableImage> images = {generator->emit(planned, spec).value()};
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<SimDevice> device, create_sim_device(spec, launch.options));
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Executable> executable, device->load(images));
  const CommandList list = record_launch(planned.info, launch);
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Recording> recording, device->record(list, std::move(executable)));
  std::vector<std::int64_t> sizes;
  for (const SizeExpr& size : list.sizes) sizes.push_back(size.constant());
  const Timepoint signal[] = {{done, 1}};
  MILLRACE_TRY(device->submit(*recording, {.bindings = launch.buffers, .sizes = sizes, .signal = signal}));
  MILLRACE_CHECK(device->dispatches().size() == 1 && device->dispatches()[0].kernel == kernel.name);
  return device->dispatches()[0].counts;
}

}  // namespace

SimRun run_on_sim(const MachineKernel& kernel, const SimLaunch& launch) {
  const auto done = Semaphore::create();
  const Result<SimCounts> counts = run(kernel, launch, done);
  if (counts.ok()) return {done->wait(1), *counts};
  const Result<std::uint64_t> signalled = done->query();
  return {signalled.ok() ? counts.status() : signalled.status(), {}};
}

}  // namespace millrace::test
