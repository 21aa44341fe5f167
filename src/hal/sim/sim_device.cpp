// SPDX-License-Identifier: Apache-2.0
// The driver "sim": simulated GPUs, which interpret kernels in the host's memory and find mistakes in them.
#include "millrace/hal/sim_device.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/device_options.h"
#include "hal/host/inline_device.h"
#include "hal/sim/sim_recording.h"

namespace millrace {
namespace {

DeviceInfo sim_info(const TargetSpec& target) {
  return {.name = target.to_text(),
          .description = fmt::format("a simulated {}, in this host's memory", target.gfx),
          .targets = {target}};
}

class InterpretingSimDevice final : public InlineDevice<SimDevice> {
 public:
  InterpretingSimDevice(const TargetSpec& target, const SimDeviceOptions& options)
      : InlineDevice(sim_info(target)), state_(std::make_shared<SimState>(target, options)) {}

  std::vector<SimDispatch> dispatches() const override { return state_->dispatches(); }

  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return guard_allocations([&]() -> Result<std::shared_ptr<Executable>> {
      MILLRACE_TRY_ASSIGN(std::shared_ptr<Executable> executable, SimExecutable::load(id(), state_->target(), images));
      return executable;
    });
  }

 private:
  void begin_submission() override { state_->begin_submission(); }

  Result<std::shared_ptr<InlineRecording>> make_recording(const CommandList& list,
                                                          std::shared_ptr<Executable> executable) const override {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<InlineRecording> recording,
                        SimRecording::create(list, std::static_pointer_cast<const SimExecutable>(std::move(executable)),
                                             *this, state_));
    return recording;
  }

  std::shared_ptr<SimState> state_;
};

Status is_always_available() { return {}; }

Result<std::vector<DeviceInfo>> enumerate_sim() {
  std::vector<DeviceInfo> devices;
  for (const GfxTarget& gfx : gfx_targets())
    devices.push_back(sim_info({.family = "sim", .gfx = std::string(gfx.name)}));
  return devices;
}

Result<std::shared_ptr<Device>> open_any(const DeviceSpec& spec) {
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device, open_sim_device(spec));
  return device;
}

}  // namespace

Result<std::shared_ptr<SimDevice>> create_sim_device(const TargetSpec& spec, const SimDeviceOptions& options) {
  return guard_allocations([&]() -> Result<std::shared_ptr<SimDevice>> {
    if (spec.is_simulated() && spec.is_gpu()) {
      return std::shared_ptr<SimDevice>(std::make_shared<InterpretingSimDevice>(spec, options));
    }
    return invalid_argument(fmt::format("device 'sim': target is {}, expected a simulated GPU; say sim:{}",
                                        spec.to_text(), gfx_targets().front().name));
  });
}

Result<std::shared_ptr<SimDevice>> open_sim_device(const DeviceSpec& spec) {
  return guard_allocations([&]() -> Result<std::shared_ptr<SimDevice>> {
    SimDeviceOptions options;
    for (const DeviceSpec::Option& option : spec.options) {
      if (option.key != "seed") {
        return invalid_argument(
            fmt::format("device '{}': option '{}' is not known; sim takes seed", spec.to_text(), option.key));
      }
      MILLRACE_TRY_ASSIGN(options.order_seed, parse_seed(spec, option));
    }
    const DeviceSpec target_alone{.driver = spec.driver, .words = spec.words};
    const Result<TargetSpec> target = TargetSpec::parse(target_alone.to_text());
    if (!target.ok()) return about_device(spec.to_text(), target.status());
    return create_sim_device(*target, options);
  });
}

Driver sim_driver() {
  return {.name = "sim", .available = is_always_available, .enumerate = enumerate_sim, .open = open_any};
}

}  // namespace millrace
