// SPDX-License-Identifier: Apache-2.0
// The checks that drivers share before they load an image.
#include "hal/checks/image.h"

#include <fmt/format.h>

namespace millrace {

Status check_info(const KernelInfo& info) {
  if (info.buffer_is_written.size() == info.num_buffers) return {};
  return invalid_argument(fmt::format("kernel '{}': buffer_is_written has {} entries, expected {} like num_buffers",
                                      info.name, info.buffer_is_written.size(), info.num_buffers));
}

Status check_gpu_target(const TargetSpec& device, const ExecutableImage& image) {
  if (image.target == device.to_text()) return {};
  return failed_precondition(
      fmt::format("kernel '{}': its image is for '{}', expected '{}'; compile for the device's target", image.info.name,
                  image.target, device.to_text()));
}

Status check_gpu_limits(const TargetSpec& device, const KernelInfo& info) {
  const GfxTarget& gfx = *device.gfx_target();
  const auto check = [&](std::string_view what, std::uint64_t planned, std::uint64_t limit) -> Status {
    if (planned <= limit) return {};
    return resource_exhausted(
        fmt::format("kernel '{0}': {1} {2}, expected at most {4}, the limit of {3}; plan the "
                    "kernel for the target",
                    info.name, planned, what, device.to_text(), limit));
  };
  MILLRACE_TRY(check("threads in a workgroup", info.workgroup_size, gfx.max_workgroup_size));
  MILLRACE_TRY(check("bytes of workgroup memory", info.workgroup_bytes, gfx.workgroup_memory_bytes));
  return check("bytes of private memory", info.private_bytes, gfx.private_memory_bytes);
}

Status check_gpu_code(const TargetSpec& device, const ExecutableImage& image) {
  MILLRACE_TRY(check_gpu_target(device, image));
  MILLRACE_TRY(check_info(image.info));
  if (image.format == ImageFormat::kGpuObject) {
    return invalid_argument(
        fmt::format("kernel '{}': its image is an object that is not linked, expected a code "
                    "object; link the program's images with link_images",
                    image.info.name));
  }
  if (image.format != ImageFormat::kGpuCode) return unknown_format(image);
  return check_gpu_limits(device, image.info);
}

Status check_interpreted(const ExecutableImage& image) {
  if (image.kernel != nullptr) return {};
  return invalid_argument(
      fmt::format("kernel '{}': an interpreted image without a kernel, expected a HostKernel", image.info.name));
}

Status unknown_format(const ExecutableImage& image) {
  return invalid_argument(fmt::format("kernel '{}': image format {} is not known to this device", image.info.name,
                                      static_cast<int>(image.format)));
}

}  // namespace millrace
