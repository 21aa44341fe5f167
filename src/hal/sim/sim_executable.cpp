// SPDX-License-Identifier: Apache-2.0
#include "hal/sim/sim_executable.h"

#include <fmt/format.h>

#include "hal/checks/image.h"

namespace millrace {
namespace {

Status check_target(const TargetSpec& device, const ExecutableImage& image) {
  if (image.target == device.to_text()) return {};
  return failed_precondition(
      fmt::format("kernel '{}': its image is for '{}', expected '{}'; compile for the device's target", image.info.name,
                  image.target, device.to_text()));
}

Status check_limits(const TargetSpec& device, const KernelInfo& info) {
  const GfxTarget& gfx = *device.gfx_target();
  const auto check = [&](std::string_view what, std::uint64_t planned, std::uint64_t limit) -> Status {
    if (planned <= limit) return {};
    return resource_exhausted(fmt::format("kernel '{}': {} {}, {} has at most {}; plan the kernel for the target",
                                          info.name, planned, what, device.to_text(), limit));
  };
  MILLRACE_TRY(check("threads in a workgroup", info.workgroup_size, gfx.max_workgroup_size));
  MILLRACE_TRY(check("bytes of workgroup memory", info.workgroup_bytes, gfx.workgroup_memory_bytes));
  return check("bytes of private memory", info.private_bytes, gfx.private_memory_bytes);
}

Status check_image(const TargetSpec& device, const ExecutableImage& image) {
  MILLRACE_TRY(check_target(device, image));
  MILLRACE_TRY(check_info(image.info));
  if (image.format != ImageFormat::kInterpreted) return unknown_format(image);
  MILLRACE_TRY(check_interpreted(image));
  return check_limits(device, image.info);
}

}  // namespace

Result<std::shared_ptr<SimExecutable>> SimExecutable::load(DeviceId device, const TargetSpec& target,
                                                           std::span<const ExecutableImage> images) {
  auto executable = std::make_shared<SimExecutable>(device);
  for (const ExecutableImage& image : images) {
    MILLRACE_TRY(check_image(target, image));
    executable->kernels_.push_back({image.info, image.kernel});
  }
  return executable;
}

}  // namespace millrace
