// SPDX-License-Identifier: Apache-2.0
// The device "isa", which executes AMD GPU machine code in the host's memory and finds mistakes in it.
#include "millrace/isa/device.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/host/inline_device.h"
#include "isa/device/recording.h"

namespace millrace {
namespace {

DeviceInfo isa_info(const TargetSpec& target) {
  return {.name = "isa:" + target.gfx,
          .description = fmt::format("a {} whose machine code is executed in this host's memory", target.gfx),
          .targets = {target}};
}

class ExecutingIsaDevice final : public InlineDevice<IsaDevice> {
 public:
  ExecutingIsaDevice(const TargetSpec& target, MachineCodeDecoder decoder, const IsaDeviceOptions& options)
      : InlineDevice(isa_info(target)), decoder_(decoder), state_(std::make_shared<IsaState>(options)) {}

  std::vector<IsaDispatch> dispatches() const override { return state_->dispatches(); }

  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return guard_allocations([&]() -> Result<std::shared_ptr<Executable>> {
      MILLRACE_TRY_ASSIGN(std::shared_ptr<Executable> executable,
                          IsaExecutable::load(id(), targets().front(), decoder_, images));
      return executable;
    });
  }

 private:
  void begin_submission() override { state_->begin_submission(); }

  Result<std::shared_ptr<InlineRecording>> make_recording(const CommandList& list,
                                                          std::shared_ptr<Executable> executable) const override {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<InlineRecording> recording,
                        IsaRecording::create(list, std::static_pointer_cast<const IsaExecutable>(std::move(executable)),
                                             *this, state_));
    return recording;
  }

  MachineCodeDecoder decoder_;
  std::shared_ptr<IsaState> state_;
};

}  // namespace

Result<std::shared_ptr<IsaDevice>> create_isa_device(const TargetSpec& target, MachineCodeDecoder decoder,
                                                     const IsaDeviceOptions& options) {
  return guard_allocations([&]() -> Result<std::shared_ptr<IsaDevice>> {
    if (target.is_gpu() && !target.is_simulated()) {
      return std::shared_ptr<IsaDevice>(std::make_shared<ExecutingIsaDevice>(target, decoder, options));
    }
    return invalid_argument(fmt::format("device 'isa': target is {}, expected a GPU's machine code; say amdgpu:{}",
                                        target.to_text(), gfx_targets().front().name));
  });
}

}  // namespace millrace
