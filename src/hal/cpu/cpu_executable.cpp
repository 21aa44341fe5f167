// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/cpu_executable.h"

#include <fmt/format.h>

#include "hal/checks/image.h"

namespace millrace {
namespace {

/// Host code needs its instruction set; an interpreted kernel only needs to be meant for this family.
Status check_target(const TargetSpec& device, const ExecutableImage& image) {
  const Result<TargetSpec> target = TargetSpec::parse(image.target);
  // "cpu" alone means another thing on every machine, so an image does not say it.
  const bool is_exact = target.ok() && target->to_text() == image.target && target->family == device.family;
  const bool is_executable = is_exact && (image.format == ImageFormat::kInterpreted || target->isa <= device.isa);
  if (is_executable) return {};
  return failed_precondition(
      fmt::format("kernel '{}': its image is for '{}', expected '{}' or a lower level of it; compile "
                  "for the device's target",
                  image.info.name, image.target, device.to_text()));
}

Status check_host_code(const ExecutableImage& image) {
  const std::string& name = image.info.name;
  const std::size_t size = image.bytes.size();
  if (image.code_bytes == 0 || image.code_bytes > size) {
    return invalid_argument(
        fmt::format("kernel '{}': {} bytes of code in an image of {}, expected 1 to the image's size", name,
                    image.code_bytes, size));
  }
  if (image.code_bytes != size && image.code_bytes % MappedCode::kPageBytes != 0) {
    return invalid_argument(
        fmt::format("kernel '{}': {} bytes of code in an image of {}, expected a multiple of {} or "
                    "the image's size",
                    name, image.code_bytes, size, MappedCode::kPageBytes));
  }
  if (image.entry_offset >= image.code_bytes) {
    return invalid_argument(fmt::format("kernel '{}': entry at {} of {} bytes of code, expected it inside", name,
                                        image.entry_offset, image.code_bytes));
  }
  if (!image.routine_name.empty() && image.routine == nullptr) {
    return failed_precondition(
        fmt::format("kernel '{}': its routine '{}' is not resolved; look the name up before "
                    "loading",
                    name, image.routine_name));
  }
  return {};
}

Result<LoadedKernel> load_host_code(const ExecutableImage& image) {
  MILLRACE_TRY(check_host_code(image));
  Result<MappedCode> code = MappedCode::map(image.bytes, image.code_bytes);
  if (!code.ok()) {
    return Status(code.status().code(), fmt::format("kernel '{}': {}", image.info.name, code.status().message()));
  }
  LoadedKernel loaded{.info = image.info, .code = *std::move(code)};
  const std::byte* entry = loaded.code.data() + image.entry_offset;
  if (image.routine == nullptr) {
    loaded.entry = reinterpret_cast<HostKernelEntry>(reinterpret_cast<std::uintptr_t>(entry));
  } else {
    loaded.routine = image.routine;
    loaded.routine_parameters = image.routine_parameters;
    loaded.microkernel = entry;
  }
  return loaded;
}

Result<LoadedKernel> load_interpreted(const ExecutableImage& image) {
  MILLRACE_TRY(check_interpreted(image));
  return LoadedKernel{.info = image.info, .kernel = image.kernel};
}

Result<LoadedKernel> load_kernel(const TargetSpec& device, const ExecutableImage& image) {
  MILLRACE_TRY(check_target(device, image));
  MILLRACE_TRY(check_info(image.info));
  switch (image.format) {
    case ImageFormat::kHostCode:
      return load_host_code(image);
    case ImageFormat::kInterpreted:
      return load_interpreted(image);
    case ImageFormat::kGpuObject:
      break;
  }
  return unknown_format(image);
}

}  // namespace

Result<std::shared_ptr<CpuExecutable>> CpuExecutable::load(DeviceId device, const TargetSpec& best,
                                                           std::span<const ExecutableImage> images) {
  auto executable = std::make_shared<CpuExecutable>(device);
  for (const ExecutableImage& image : images) {
    MILLRACE_TRY_ASSIGN(LoadedKernel kernel, load_kernel(best, image));
    executable->kernels_.push_back(std::move(kernel));
  }
  return executable;
}

}  // namespace millrace
