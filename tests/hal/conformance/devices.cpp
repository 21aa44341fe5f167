// SPDX-License-Identifier: Apache-2.0
#include "tests/hal/conformance/devices.h"

#include <string>

#include <doctest/doctest.h>

#include "millrace/hal/sim_device.h"

namespace millrace {
namespace {

TargetSpec host() { return TargetSpec::parse("cpu").value(); }

Result<std::shared_ptr<Device>> create_cpu() { return create_cpu_device(host()); }
Result<std::shared_ptr<Device>> create_cpu_baseline() { return create_cpu_device(TargetSpec{.family = "cpu"}); }
Result<std::shared_ptr<Device>> create_cpu_group_by_group() {
  return create_cpu_device(host(), {.max_groups_per_call = 1});
}
Result<std::shared_ptr<Device>> create_cpu_in_threes() { return create_cpu_device(host(), {.max_groups_per_call = 3}); }
Result<std::shared_ptr<Device>> create_sim(const char* target, const SimDeviceOptions& options = {}) {
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device, create_sim_device(TargetSpec::parse(target).value(), options));
  return device;
}
Result<std::shared_ptr<Device>> create_sim_in_order() { return create_sim("sim:gfx1100"); }
Result<std::shared_ptr<Device>> create_sim_shuffled() { return create_sim("sim:gfx90a", {.order_seed = 1}); }
Result<std::shared_ptr<Device>> create_trace() {
  static std::vector<std::string> log;
  return create_trace_device(create_cpu().value(), &log);
}

constexpr DeviceCase kDevices[] = {{"cpu", create_cpu},
                                   {"cpu:baseline", create_cpu_baseline},
                                   {"cpu, one group a call", create_cpu_group_by_group},
                                   {"cpu, three groups a call", create_cpu_in_threes},
                                   {"sim:gfx1100", create_sim_in_order},
                                   {"sim:gfx90a, shuffled", create_sim_shuffled},
                                   {"trace(cpu)", create_trace}};

}  // namespace

std::span<const DeviceCase> conformance_devices() { return kDevices; }

void on_every_device(const std::function<void(Device&)>& test) {
  for (const DeviceCase& row : conformance_devices()) {
    const std::string name = row.name;  // doctest prints a char* as an address
    CAPTURE(name);
    const Result<std::shared_ptr<Device>> device = row.create();
    REQUIRE(device.ok());
    test(**device);
  }
}

void on_every_host_code_device(const std::function<void(Device&)>& test) {
  on_every_device([&](Device& device) {
    if (device.target().is_cpu()) test(device);
  });
}

Status run_once(Device& device, const ListBuilder& builder, std::shared_ptr<Executable> executable,
                std::vector<BufferBinding> bindings, const SymbolValues& symbols) {
  MILLRACE_TRY_ASSIGN(const std::unique_ptr<Recording> recording, device.record(builder.list, std::move(executable)));
  const std::vector<std::int64_t> sizes = builder.evaluate(symbols);
  return device.submit(*recording, {.bindings = bindings, .sizes = sizes});
}

}  // namespace millrace
