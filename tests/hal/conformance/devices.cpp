// SPDX-License-Identifier: Apache-2.0
#include "tests/hal/conformance/devices.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "millrace/hal/sim_device.h"
#include "millrace/hal/transfer.h"
#include "millrace/isa/driver.h"
#include "tests/hal/conformance/hip_devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/support/executors.h"
#include "tests/support/gpu/far_device.h"

namespace millrace {
namespace {

TargetSpec host() { return TargetSpec::parse("cpu").value(); }

Result<std::shared_ptr<Device>> create_cpu() { return create_cpu_device(host()); }
Result<std::shared_ptr<Device>> create_cpu_baseline() { return create_cpu_device(TargetSpec{.family = "cpu"}); }
Result<std::shared_ptr<Device>> create_cpu_group_by_group() {
  return create_cpu_device(host(), {.max_groups_per_call = 1});
}
Result<std::shared_ptr<Device>> create_cpu_in_threes() { return create_cpu_device(host(), {.max_groups_per_call = 3}); }
/// Each dispatch of several groups is shared, however small it is.
Result<std::shared_ptr<Device>> create_cpu_on(std::shared_ptr<Executor> executor,
                                              std::uint32_t max_groups_per_call = 0xffff'ffff) {
  return create_cpu_device(
      host(), {.executor = std::move(executor), .max_groups_per_call = max_groups_per_call, .shares_small_work = true});
}
Result<std::shared_ptr<Device>> create_cpu_on_2() { return create_cpu_on(create_thread_pool({2}).value()); }
Result<std::shared_ptr<Device>> create_cpu_on_3_in_pairs() { return create_cpu_on(create_thread_pool({3}).value(), 2); }
Result<std::shared_ptr<Device>> create_cpu_on_reverse() {
  return create_cpu_on(test::make_executor(test::ExecutorKind::kReverse, 3));
}
Result<std::shared_ptr<Device>> create_cpu_by_option() {
  return cpu_driver().open(DeviceSpec::parse("cpu:baseline,threads=3").value());
}
Result<std::shared_ptr<Device>> create_sim(const char* target, const SimDeviceOptions& options = {}) {
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device, create_sim_device(TargetSpec::parse(target).value(), options));
  return device;
}
Result<std::shared_ptr<Device>> create_sim_in_order() { return create_sim("sim:gfx1100"); }
Result<std::shared_ptr<Device>> create_sim_shuffled() { return create_sim("sim:gfx90a", {.order_seed = 1}); }
Result<std::shared_ptr<Device>> create_isa(const char* spec) {
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device, open_isa_device(DeviceSpec::parse(spec).value()));
  return device;
}
Result<std::shared_ptr<Device>> create_isa_in_order() { return create_isa("isa:gfx1100"); }
Result<std::shared_ptr<Device>> create_isa_shuffled() { return create_isa("isa:gfx90a,seed=1"); }
Result<std::shared_ptr<Device>> create_trace() {
  return create_trace_device(create_cpu().value(), [](std::string_view) {});
}
Result<std::shared_ptr<Device>> create_far_cpu() { return test::create_far_device(create_cpu().value()); }
Result<std::shared_ptr<Device>> create_far_cpu_on_3() {
  return test::create_far_device(create_cpu_on(create_thread_pool({3}).value()).value(), {.seed = 4});
}
Result<std::shared_ptr<Device>> create_far_sim() {
  return test::create_far_device(create_sim_in_order().value(), {.seed = 2});
}
Result<std::shared_ptr<Device>> create_far_isa() {
  return test::create_far_device(create_isa_in_order().value(), {.seed = 3});
}
Result<std::shared_ptr<Device>> create_far_trace() {
  return create_trace_device(create_far_cpu().value(), [](std::string_view) {});
}

constexpr DeviceCase kDevices[] = {{"cpu", create_cpu},
                                   {"cpu:baseline", create_cpu_baseline},
                                   {"cpu, one group a call", create_cpu_group_by_group},
                                   {"cpu, three groups a call", create_cpu_in_threes},
                                   {"cpu:threads=2, all shared", create_cpu_on_2},
                                   {"cpu:threads=3, all shared, two groups a call", create_cpu_on_3_in_pairs},
                                   {"cpu, an executor in reverse", create_cpu_on_reverse},
                                   {"cpu:baseline,threads=3", create_cpu_by_option},
                                   {"sim:gfx1100", create_sim_in_order},
                                   {"sim:gfx90a, shuffled", create_sim_shuffled},
                                   {"trace(cpu)", create_trace},
                                   {"far(cpu)", create_far_cpu},
                                   {"far(cpu:threads=3)", create_far_cpu_on_3},
                                   {"far(sim:gfx1100)", create_far_sim},
                                   {"trace(far(cpu))", create_far_trace},
                                   // These need LLVM, and come last.
                                   {"isa:gfx1100", create_isa_in_order},
                                   {"isa:gfx90a, shuffled", create_isa_shuffled},
                                   {"far(isa:gfx1100)", create_far_isa}};
constexpr std::size_t kNeedLlvm = 3;

}  // namespace

std::span<const DeviceCase> conformance_devices() {
  if (std::getenv("MILLRACE_HIP_SEED") != nullptr) return conformance_hip_devices();
  static const std::vector<DeviceCase> devices = [] {
    std::vector<DeviceCase> all(std::begin(kDevices), std::end(kDevices));
    if (!isa_driver().available().ok()) {
      all.resize(all.size() - kNeedLlvm);
      return all;
    }
    all.insert(all.end(), conformance_hip_devices().begin(), conformance_hip_devices().end());
    return all;
  }();
  return devices;
}

Result<std::shared_ptr<Recording>> TestedDevice::record(const CommandList& list,
                                                        std::shared_ptr<Executable> executable) {
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Recording> recording, device_->record(list, std::move(executable)));
  std::vector<BindingPlace>& places = places_[recording.get()];
  places.clear();
  for (const BindingDecl& binding : list.bindings) places.push_back(binding.place);
  return recording;
}

/// The buffers that take the place of host memory, by binding.
Result<std::vector<std::shared_ptr<Buffer>>> TestedDevice::stage(Recording& recording,
                                                                 std::vector<BufferBinding>& bindings) {
  std::vector<std::shared_ptr<Buffer>> staged(bindings.size());
  const std::vector<BindingPlace>& places = places_[&recording];
  for (std::size_t i = 0; i < std::min(bindings.size(), places.size()); ++i) {
    BufferBinding& binding = bindings[i];
    if (places[i] == BindingPlace::kHost || binding.buffer != nullptr || binding.data == nullptr) continue;
    MILLRACE_TRY_ASSIGN(staged[i], device_->allocate(binding.size_bytes));
    MILLRACE_TRY(
        upload(*device_, *staged[i], std::span(static_cast<const std::byte*>(binding.data), binding.size_bytes)));
    binding = staged[i]->binding();
  }
  return staged;
}

Status TestedDevice::submit(Recording& recording, const Submission& submission) {
  std::vector<BufferBinding> bindings(submission.bindings.begin(), submission.bindings.end());
  std::vector<std::shared_ptr<Buffer>> staged(bindings.size());
  if (!device_->info().addresses_host_memory) {
    MILLRACE_TRY_ASSIGN(staged, stage(recording, bindings));
  }
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Semaphore> done, device_->create_semaphore());
  std::vector<Timepoint> signal(submission.signal.begin(), submission.signal.end());
  signal.push_back({done, 1});
  Submission waited = submission;
  waited.bindings = bindings;
  waited.signal = signal;
  const Status submitted = device_->submit(recording, waited);
  const Status status = done->wait(1);
  CHECK((submitted.ok() || submitted.message() == status.message()));
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    if (staged[i] == nullptr) continue;
    const BufferBinding& given = submission.bindings[i];
    MILLRACE_TRY(download(*device_, *staged[i], std::span(static_cast<std::byte*>(given.data), given.size_bytes)));
  }
  return status;
}

void on_every_device(const std::function<void(TestedDevice&)>& test) {
  for (const DeviceCase& row : conformance_devices()) {
    const std::string name = row.name;  // doctest prints a char* as an address
    CAPTURE(name);
    const Result<std::shared_ptr<Device>> device = row.create();
    REQUIRE(device.ok());
    TestedDevice tested(*device);
    test(tested);
  }
}

void on_every_host_code_device(const std::function<void(TestedDevice&)>& test) {
  on_every_device([&](TestedDevice& device) {
    if (device.target().is_cpu()) test(device);
  });
}

void on_every_host_kernel_device(const std::function<void(TestedDevice&)>& test) {
  on_every_device([&](TestedDevice& device) {
    if (runs_host_kernels(device.target())) test(device);
  });
}

void on_every_host_memory_device(const std::function<void(TestedDevice&)>& test) {
  on_every_device([&](TestedDevice& device) {
    if (device.raw().info().addresses_host_memory) test(device);
  });
}

Status run_once(TestedDevice& device, const ListBuilder& builder, std::shared_ptr<Executable> executable,
                std::vector<BufferBinding> bindings, const SymbolValues& symbols) {
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Recording> recording, device.record(builder.list, std::move(executable)));
  const std::vector<std::int64_t> sizes = builder.evaluate(symbols);
  return device.submit(*recording, {.bindings = bindings, .sizes = sizes});
}

}  // namespace millrace
