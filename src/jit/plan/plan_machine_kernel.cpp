// SPDX-License-Identifier: Apache-2.0
// The plan that the LLVM generator and the interpreter share: maps loop nests, verifies the kernel and plans its
// memory.
#include "jit/plan/plan_machine_kernel.h"

#include "millrace/jit/map_kernel.h"

namespace millrace {
namespace {

/// The kernel without names, and without the expressions that each launch evaluates. The code reads only the values of
/// the size arguments and the workgroup id, so it does not depend on the expressions.
MachineKernel as_code(MachineKernel kernel) {
  kernel.name.clear();
  kernel.num_groups = 1;
  for (BufferArgument& buffer : kernel.buffers) buffer.name.clear();
  for (SizeArgument& size : kernel.sizes) size = {};
  for (MemorySlot& slot : kernel.slots) slot.name.clear();
  return kernel;
}

}  // namespace

Result<PlannedKernel> plan_machine_kernel(const Kernel& kernel, const TargetSpec& spec, std::string_view generator) {
  MachineKernel machine;
  std::string mapping;
  if (const auto* loop = std::get_if<LoopKernel>(&kernel)) {
    MILLRACE_TRY_ASSIGN(DescribedKernel described, map_and_describe(*loop, spec));
    machine = std::move(described.kernel);
    mapping = std::move(described.mapping);
  } else if (const auto* given = std::get_if<MachineKernel>(&kernel)) {
    machine = *given;
  } else {
    return unimplemented("a row kernel, expected a loop nest or a machine kernel");
  }
  MILLRACE_TRY(verify(machine));
  PlannedKernel planned;
  MILLRACE_TRY_ASSIGN(planned.memory, plan_memory(machine, spec));
  planned.name = machine.name;
  planned.generator = generator;
  planned.num_groups = machine.num_groups;
  for (const SizeArgument& size : machine.sizes) planned.sizes.push_back(size.value.value_or(0));
  planned.info.name = machine.name;
  planned.info.num_buffers = static_cast<std::uint32_t>(machine.buffers.size());
  planned.info.num_sizes = static_cast<std::uint32_t>(machine.sizes.size());
  for (const BufferArgument& buffer : machine.buffers) planned.info.buffer_is_written.push_back(buffer.is_written());
  planned.info.workgroup_bytes = planned.memory.workgroup_bytes;
  planned.info.private_bytes = planned.memory.private_bytes;
  planned.info.workgroup_size = machine.workgroup_size;
  planned.key_text = to_text(as_code(machine));
  planned.mapped = std::move(machine);
  planned.mapping = std::move(mapping);
  return planned;
}

}  // namespace millrace
