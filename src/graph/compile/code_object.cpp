// SPDX-License-Identifier: Apache-2.0
// Links a lowered graph's kernels into one GPU code object, for applications that launch them without Millrace.
#include "millrace/graph/code_object.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program_variant.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {
namespace {

Result<ExecutableImage> emit_kernel(const PlannedKernel& kernel, const Target& target) {
  const KernelCompiler* generator = target.find_generator(kernel.generator);
  if (generator != nullptr) return generator->emit(kernel, target.spec());
  return invalid_argument(
      fmt::format("code object: kernel '{}' is planned by '{}', which {} does not have; lower the "
                  "graph for this target",
                  kernel.name, kernel.generator, target.to_text()));
}

Status require_gpu_kernels(const LoweredGraph& lowered, const TargetSpec& target) {
  if (!target.is_gpu()) {
    return invalid_argument(fmt::format(
        "code object: target {} is not a GPU; lower the graph for one, such as amdgpu:gfx1100", target.to_text()));
  }
  if (target.is_simulated()) {
    return invalid_argument(fmt::format("code object: target {} interprets kernels; lower the graph for amdgpu:{}",
                                        target.to_text(), target.gfx));
  }
  if (!lowered.schedule.kernels.empty()) return {};
  return failed_precondition("code object: the graph has no kernel, so there is nothing to launch");
}

}  // namespace

Result<std::vector<std::byte>> make_code_object(const LoweredGraph& lowered, const Target& target) {
  return guard_allocations([&]() -> Result<std::vector<std::byte>> {
    MILLRACE_TRY(require_gpu_kernels(lowered, target.spec()));
    std::vector<ExecutableImage> images;
    for (const PlannedKernel& kernel : lowered.schedule.kernels) {
      MILLRACE_TRY_ASSIGN(ExecutableImage image, emit_kernel(kernel, target));
      images.push_back(std::move(image));
    }
    return link_images(images);
  });
}

Result<std::vector<std::byte>> make_code_object(const ProgramVariant& variant) {
  return guard_allocations([&]() -> Result<std::vector<std::byte>> {
    MILLRACE_TRY(require_gpu_kernels(*variant.lowered, variant.target));
    const SharedBytes& code = variant.images.front().bytes;
    return std::vector<std::byte>(code.begin(), code.end());
  });
}

}  // namespace millrace
