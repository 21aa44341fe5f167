// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/cpu_device.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guard_allocations.h"
#include "hal/checks/record.h"
#include "hal/cpu/cpu_recording.h"
#include "hal/device_errors.h"
#include "hal/timepoints.h"
#include "millrace/hal/device.h"

namespace millrace {
namespace {

class CpuDevice final : public Device {
 public:
  CpuDevice(const TargetSpec& target, const CpuDeviceOptions& options) : target_(target), options_(options) {}

  std::string_view name() const override { return "cpu"; }
  const TargetSpec& target() const override { return target_; }

  Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) override { return Buffer::allocate(size_bytes); }

  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return guard_allocations("load", [&]() -> Result<std::shared_ptr<Executable>> {
      MILLRACE_TRY_ASSIGN(std::shared_ptr<Executable> executable, CpuExecutable::load(target_, images));
      return executable;
    });
  }

  Result<std::unique_ptr<Recording>> record(const CommandList& list, std::shared_ptr<Executable> executable) override {
    return guard_allocations("record", [&]() -> Result<std::unique_ptr<Recording>> {
      auto ours = std::dynamic_pointer_cast<CpuExecutable>(executable);
      if (executable != nullptr && (ours == nullptr || ours->device() != target_)) {
        return foreign_executable(name(), target_.to_text());
      }
      MILLRACE_TRY(check_record(list, ours.get()));
      MILLRACE_TRY_ASSIGN(std::unique_ptr<Recording> recording, CpuRecording::create(list, std::move(ours), options_));
      return recording;
    });
  }

  Status submit(Recording& recording, const Submission& submission) override {
    auto* ours = dynamic_cast<CpuRecording*>(&recording);
    // Signalled when the recording is free again, so that who waits may submit it.
    return settle(submission.signal, guard_allocations("submit", [&] {
                    return ours != nullptr ? ours->submit(submission) : foreign_recording(name());
                  }));
  }

 private:
  TargetSpec target_;
  CpuDeviceOptions options_;
};

Status host_is_supported() { return TargetSpec::parse("cpu").status(); }

Result<std::shared_ptr<Device>> create_default(const TargetSpec& spec) { return create_cpu_device(spec); }

}  // namespace

Status check_host_executes(const TargetSpec& spec, std::span<const IsaLevel> levels) {
  if (!spec.is_cpu()) {
    return invalid_argument(
        fmt::format("device 'cpu': target is {}, expected a level of cpu; ask for a device of that "
                    "family",
                    spec.to_text()));
  }
  if (std::find(levels.begin(), levels.end(), spec.isa) != levels.end()) return {};
  std::vector<std::string> executable;
  for (IsaLevel level : levels) executable.push_back(TargetSpec{.family = "cpu", .isa = level}.to_text());
  return unavailable(fmt::format("device 'cpu': target is {}, this host executes {}; say one of these", spec.to_text(),
                                 executable.empty() ? "none" : fmt::format("{}", fmt::join(executable, ", "))));
}

Result<std::shared_ptr<Device>> create_cpu_device(const TargetSpec& spec, const CpuDeviceOptions& options) {
  return guard_allocations("device 'cpu'", [&]() -> Result<std::shared_ptr<Device>> {
    MILLRACE_TRY(check_host_executes(spec, host_isa_levels()));
    if (options.max_groups_per_call == 0) {
      return invalid_argument("device 'cpu': max_groups_per_call is 0, expected at least 1");
    }
    return std::shared_ptr<Device>(std::make_shared<CpuDevice>(spec, options));
  });
}

Driver cpu_driver() { return {.name = "cpu", .available = host_is_supported, .create = create_default}; }

}  // namespace millrace
