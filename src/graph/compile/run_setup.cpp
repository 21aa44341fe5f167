// SPDX-License-Identifier: Apache-2.0
// Runs the graph that computes prepared constants, once, when a program is loaded.
#include "graph/compile/run_setup.h"

namespace millrace {

std::vector<UploadPart> parts_of_constants(const Schedule& schedule) {
  std::vector<UploadPart> parts;
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != Lifetime::kConstant || resource.prepared) continue;
    parts.push_back({static_cast<std::size_t>(resource.offset_bytes.constant()), resource.constant});
  }
  return parts;
}

Status run_setup(Device& device, const LoweredGraph& setup, std::span<const ExecutableImage> images,
                 const Schedule& program, const Buffer& constants) {
  const CommandList& commands = setup.commands;
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Executable> executable, device.load(images));
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Recording> recording, device.record(commands, std::move(executable)));
  std::vector<std::int64_t> sizes;
  for (const SizeExpr& size : commands.sizes) sizes.push_back(size.constant());
  std::vector<std::shared_ptr<Buffer>> own;
  std::vector<BufferBinding> bindings;
  for (const BindingDecl& binding : commands.bindings) {
    MILLRACE_TRY_ASSIGN(own.emplace_back(),
                        binding.kind == BindingKind::kOutput
                            ? Result<std::shared_ptr<Buffer>>(nullptr)
                            : device.allocate(static_cast<std::size_t>(sizes[index_of(binding.size_bytes)])));
    if (binding.kind == BindingKind::kConstant) {
      MILLRACE_TRY(upload(device, *own.back(), parts_of_constants(setup.schedule)));
    }
    bindings.push_back(own.back() == nullptr ? BufferBinding() : own.back()->binding());
  }
  for (const Resource& resource : program.resources) {  // the setup's outputs are its first bindings
    if (!resource.prepared) continue;
    bindings[*resource.prepared] = {.size_bytes = static_cast<std::size_t>(resource.size_bytes.constant()),
                                    .buffer = &constants,
                                    .offset_bytes = static_cast<std::size_t>(resource.offset_bytes.constant())};
  }
  Timepoint end{.value = 1};
  MILLRACE_TRY_ASSIGN(end.semaphore, device.create_semaphore());
  MILLRACE_TRY(device.submit(*recording, {.bindings = bindings, .sizes = sizes, .signal = {&end, 1}}));
  return end.wait();
}

}  // namespace millrace
