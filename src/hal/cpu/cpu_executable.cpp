// SPDX-License-Identifier: Apache-2.0
// Loads images of host code, routines and interpreted kernels, after checking that this CPU can run them.
#include "hal/cpu/cpu_executable.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/checks/image.h"
#include "hal/host/memory_pages.h"
#include "hal/host/routines/routine.h"

namespace millrace {
namespace {

/// Machine code needs a host with its instruction set; an interpreted kernel runs on every host of its family.
Status check_target(const TargetSpec& device, const ExecutableImage& image) {
  const Result<TargetSpec> target = unguarded(TargetSpec::parse(image.target));
  // "cpu" alone means a different target on every machine, so an image never states it as its target.
  const bool is_exact = target.ok() && target->to_text() == image.target && target->family == device.family;
  const bool is_executable = is_exact && (image.format == ImageFormat::kInterpreted || device.covers(*target));
  if (is_executable) return {};
  return failed_precondition(
      fmt::format("kernel '{}': its image is for '{}', expected '{}' or one that it covers; compile for the "
                  "device's target",
                  image.info.name, image.target, device.to_text()));
}

Status check_host_code(const ExecutableImage& image) {
  const std::string& name = image.info.name;
  const std::size_t size = image.bytes.size();
  if (image.code_bytes == 0 || image.code_bytes > size) {
    return invalid_argument(
        fmt::format("kernel '{}': {} bytes of code in an image of {} bytes, expected 1 to the image's size", name,
                    image.code_bytes, size));
  }
  if (image.code_bytes != size && image.code_bytes % kPageBytes != 0) {
    return invalid_argument(
        fmt::format("kernel '{}': {} bytes of code in an image of {} bytes, expected a multiple of {} or "
                    "the image's size",
                    name, image.code_bytes, size, kPageBytes));
  }
  if (image.entry_offset >= image.code_bytes) {
    return invalid_argument(fmt::format("kernel '{}': entry at offset {}, expected it inside the {} bytes of code",
                                        name, image.entry_offset, image.code_bytes));
  }
  if (image.routine.name.empty()) return {};
  const Status found = find_routine(image.routine).status();
  return found.ok() ? found : Status(found.code(), fmt::format("kernel '{}': {}", name, found.message()));
}

Status check_image(const TargetSpec& best, const ExecutableImage& image) {
  MILLRACE_TRY(check_target(best, image));
  MILLRACE_TRY(check_info(image.info));
  switch (image.format) {
    case ImageFormat::kHostCode:
      return check_host_code(image);
    case ImageFormat::kInterpreted:
      return check_interpreted(image);
    case ImageFormat::kGpuObject:
    case ImageFormat::kGpuCode:
      break;
  }
  return unknown_format(image);
}

/// `code` is the address at which the image's bytes are mapped; null for an interpreted kernel.
LoadedKernel loaded(const ExecutableImage& image, const std::byte* code) {
  LoadedKernel kernel{.info = image.info, .kernel = image.kernel};
  if (image.format == ImageFormat::kInterpreted) return kernel;
  const std::byte* entry = code + image.entry_offset;
  if (image.routine.name.empty()) {
    kernel.entry = reinterpret_cast<HostKernelEntry>(reinterpret_cast<std::uintptr_t>(entry));
  } else {
    kernel.routine = find_routine(image.routine).value();  // check_image found it
    kernel.routine_parameters = image.routine.parameters;
    kernel.microkernel = entry;
  }
  return kernel;
}

}  // namespace

Result<std::shared_ptr<CpuExecutable>> CpuExecutable::load(DeviceId device, const TargetSpec& best,
                                                           std::span<const ExecutableImage> images,
                                                           const CodeSymbols& symbols) {
  auto executable = std::make_shared<CpuExecutable>(device);
  std::vector<CodeBlock> blocks;
  for (const ExecutableImage& image : images) {
    MILLRACE_TRY(check_image(best, image));
    if (image.format == ImageFormat::kHostCode) blocks.push_back({image.bytes, image.code_bytes});
  }
  std::vector<std::size_t> offsets;
  Result<MappedCode> code = MappedCode::map(blocks, offsets);
  if (!code.ok()) {
    return Status(code.status().code(), fmt::format("{} kernels: {}", images.size(), code.status().message()));
  }
  executable->code_ = *std::move(code);
  auto offset = offsets.begin();
  std::vector<CodePlace> places;
  for (const ExecutableImage& image : images) {
    const bool has_code = image.format == ImageFormat::kHostCode;
    const std::byte* code = has_code ? executable->code_.data() + *offset++ : nullptr;
    executable->kernels_.push_back(loaded(image, code));
    if (has_code && symbols.any()) places.push_back({image.info.name, code, image.code_bytes});
  }
  MILLRACE_TRY_ASSIGN(executable->debugged_, announce_code(places, symbols));
  return executable;
}

}  // namespace millrace
