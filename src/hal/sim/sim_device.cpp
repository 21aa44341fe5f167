// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/sim_device.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/checks/record.h"
#include "hal/device_errors.h"
#include "hal/sim/sim_recording.h"
#include "hal/timepoints.h"

namespace millrace {
namespace {

class InterpretingSimDevice final : public SimDevice {
 public:
  InterpretingSimDevice(const TargetSpec& target, const SimDeviceOptions& options)
      : state_(std::make_shared<SimState>(target, options)) {}

  std::string_view name() const override { return "sim"; }
  const TargetSpec& target() const override { return state_->target(); }
  std::vector<SimDispatch> dispatches() const override { return state_->dispatches(); }

  Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) override { return Buffer::allocate(size_bytes); }

  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return guard_allocations("load", [&]() -> Result<std::shared_ptr<Executable>> {
      MILLRACE_TRY_ASSIGN(std::shared_ptr<Executable> executable, SimExecutable::load(target(), images));
      return executable;
    });
  }

  Result<std::unique_ptr<Recording>> record(const CommandList& list, std::shared_ptr<Executable> executable) override {
    return guard_allocations("record", [&]() -> Result<std::unique_ptr<Recording>> {
      auto ours = std::dynamic_pointer_cast<SimExecutable>(executable);
      if (executable != nullptr && (ours == nullptr || ours->device() != target())) {
        return foreign_executable(name(), target().to_text());
      }
      MILLRACE_TRY(check_record(list, ours.get()));
      MILLRACE_TRY_ASSIGN(std::unique_ptr<Recording> recording, SimRecording::create(list, std::move(ours), state_));
      return recording;
    });
  }

  Status submit(Recording& recording, const Submission& submission) override {
    auto* ours = dynamic_cast<SimRecording*>(&recording);
    return settle(submission.signal, guard_allocations("submit", [&]() -> Status {
                    if (ours == nullptr) return foreign_recording(name());
                    state_->begin_submission();
                    return ours->submit(submission);
                  }));
  }

 private:
  std::shared_ptr<SimState> state_;
};

Status is_always_available() { return {}; }

Result<std::shared_ptr<Device>> create_default(const TargetSpec& spec) {
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device, create_sim_device(spec));
  return device;
}

}  // namespace

Result<std::shared_ptr<SimDevice>> create_sim_device(const TargetSpec& spec, const SimDeviceOptions& options) {
  return guard_allocations("device 'sim'", [&]() -> Result<std::shared_ptr<SimDevice>> {
    if (spec.is_simulated() && spec.is_gpu()) {
      return std::shared_ptr<SimDevice>(std::make_shared<InterpretingSimDevice>(spec, options));
    }
    return invalid_argument(fmt::format("device 'sim': target is {}, expected a simulated GPU; say sim:{}",
                                        spec.to_text(), gfx_targets().front().name));
  });
}

Driver sim_driver() { return {.name = "sim", .available = is_always_available, .create = create_default}; }

}  // namespace millrace
