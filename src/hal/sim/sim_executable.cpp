// SPDX-License-Identifier: Apache-2.0
// Loads interpreted kernels onto the sim device, within the limits of the GPU that it simulates.
#include "hal/sim/sim_executable.h"

#include <fmt/format.h>

#include "hal/checks/image.h"

namespace millrace {
namespace {

Status check_image(const TargetSpec& device, const ExecutableImage& image) {
  MILLRACE_TRY(check_gpu_target(device, image));
  MILLRACE_TRY(check_info(image.info));
  if (image.format != ImageFormat::kInterpreted) return unknown_format(image);
  MILLRACE_TRY(check_interpreted(image));
  return check_gpu_limits(device, image.info);
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
