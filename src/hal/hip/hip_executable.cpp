// SPDX-License-Identifier: Apache-2.0
#include "hal/hip/hip_executable.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "hal/checks/image.h"

namespace millrace::hip {
namespace {

struct CodeObject {
  SharedBytes bytes;
  std::shared_ptr<LoadedModule> module;
};

}  // namespace

Result<std::shared_ptr<HipExecutable>> HipExecutable::load(std::shared_ptr<Context> context, const TargetSpec& target,
                                                           std::span<const ExecutableImage> images) {
  for (const ExecutableImage& image : images) MILLRACE_TRY(check_gpu_code(target, image));
  auto executable = std::make_shared<HipExecutable>(context->id());
  const CurrentDevice current(*context);
  MILLRACE_TRY(current.status());
  std::vector<CodeObject> objects;
  for (const ExecutableImage& image : images) {
    const std::string where = fmt::format("load: kernel '{}' on device '{}', a {}", image.info.name, context->name(),
                                          context->facts().architecture);
    const auto is_its = [&](const CodeObject& known) { return known.bytes.is_shared_with(image.bytes); };
    auto object = std::ranges::find_if(objects, is_its);
    if (object == objects.end()) {
      MILLRACE_TRY_ASSIGN(std::shared_ptr<LoadedModule> module, LoadedModule::load(context, where, image.bytes));
      objects.push_back({image.bytes, std::move(module)});
      object = objects.end() - 1;
    }
    Function function = nullptr;
    const Error error = context->hip().hipModuleGetFunction(&function, object->module->get(), image.symbol.c_str());
    MILLRACE_TRY(context->check(where, "hipModuleGetFunction", error));
    executable->kernels_.push_back({image.info, object->module, function});
  }
  return executable;
}

}  // namespace millrace::hip
