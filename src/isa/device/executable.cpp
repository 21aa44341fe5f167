// SPDX-License-Identifier: Apache-2.0
// Loads code objects for the isa device, after checking that their kernels match what the images describe.
#include "isa/device/executable.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hal/checks/image.h"
#include "isa/device/kernarg.h"

namespace millrace {
namespace {

/// Checks that the code matches the kernel in the image's info.
Status check_code(const ExecutableImage& image, const MachineCodeKernel& code) {
  const KernelInfo& info = image.info;
  const auto check = [&](std::string_view what, std::uint64_t found, std::uint64_t expected) -> Status {
    if (found == expected) return {};
    return invalid_argument(
        fmt::format("kernel '{}': its code has {} {}, expected {}; give the info that the code was "
                    "made for",
                    info.name, found, what, expected));
  };
  MILLRACE_TRY(check("bytes of arguments", code.argument_bytes, kernarg_bytes(info)));
  MILLRACE_TRY(check("threads in a workgroup", code.workgroup_size, info.workgroup_size));
  if (code.workgroup_bytes != 0) {  // 0 if LLVM has removed memory that has no effect
    MILLRACE_TRY(check("bytes of workgroup memory", code.workgroup_bytes, info.workgroup_bytes));
  }
  if (code.hidden_arguments.empty()) return {};
  return invalid_argument(fmt::format("kernel '{}': its code takes hidden arguments ({}), expected none", info.name,
                                      fmt::join(code.hidden_arguments, ", ")));
}

/// A code object, decoded.
struct CodeObject {
  SharedBytes bytes;
  std::vector<MachineCodeKernel> kernels;  // without instructions
  std::shared_ptr<const isa::Program> program;
};

/// An error about the whole object: it may concern a kernel other than the image's.
Status about_object(const ExecutableImage& image, const Status& status) {
  return {status.code(), fmt::format("code object of kernel '{}': {}", image.info.name, status.message())};
}

Result<CodeObject> decode(const TargetSpec& device, MachineCodeDecoder decoder, const ExecutableImage& image) {
  Result<MachineCode> code = decoder(image.bytes);
  if (!code.ok()) return about_object(image, code.status());
  if (code->gfx != device.gfx) {
    return invalid_argument(
        fmt::format("code object of kernel '{}': target is {}, expected {}; compile for the "
                    "device's target",
                    image.info.name, code->gfx, device.gfx));
  }
  CodeObject object{.bytes = image.bytes, .kernels = code->kernels, .program = nullptr};
  for (MachineCodeKernel& kernel : object.kernels) kernel.instructions.clear();
  Result<std::shared_ptr<const isa::Program>> program = isa::load_program(*std::move(code));
  if (!program.ok()) return about_object(image, program.status());
  object.program = *std::move(program);
  return object;
}

}  // namespace

Result<std::shared_ptr<IsaExecutable>> IsaExecutable::load(DeviceId device, const TargetSpec& target,
                                                           MachineCodeDecoder decoder,
                                                           std::span<const ExecutableImage> images) {
  auto executable = std::make_shared<IsaExecutable>(device);
  std::vector<CodeObject> objects;
  for (const ExecutableImage& image : images) {
    MILLRACE_TRY(check_gpu_code(target, image));
    const auto is_its = [&](const CodeObject& known) { return known.bytes.is_shared_with(image.bytes); };
    auto object = std::ranges::find_if(objects, is_its);
    if (object == objects.end()) {
      MILLRACE_TRY_ASSIGN(CodeObject decoded, decode(target, decoder, image));
      objects.push_back(std::move(decoded));
      object = objects.end() - 1;
    }
    const auto kernel = std::ranges::find(object->kernels, image.symbol, &MachineCodeKernel::symbol);
    if (kernel == object->kernels.end()) {
      return invalid_argument(
          fmt::format("kernel '{}': its code object has no kernel '{}'; give the object that it "
                      "was linked into",
                      image.info.name, image.symbol));
    }
    MILLRACE_TRY(check_code(image, *kernel));
    executable->kernels_.push_back({image.info, object->program, object->program->find(image.symbol)});
  }
  return executable;
}

}  // namespace millrace
