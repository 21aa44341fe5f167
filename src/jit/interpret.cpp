// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/interpret.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/interpret_program.h"

namespace millrace {
namespace {

using interpreter::Frame;
using interpreter::Program;
using interpreter::Step;

void run_groups(const Program& program, const MachineKernel& kernel, const MemoryPlan& plan, Frame& frame,
                std::byte* private_memory, std::uint32_t first_group, std::uint32_t end_group) {
  frame.memory.clear();
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    frame.memory.push_back({.data = static_cast<std::byte*>(frame.args->buffers[i])});
  }
  for (std::size_t i = 0; i < kernel.slots.size(); ++i) {
    auto* base = kernel.slots[i].kind == MemoryKind::kPrivate ? private_memory
                                                              : static_cast<std::byte*>(frame.args->workgroup_memory);
    frame.memory.push_back({.data = base + plan.slots[i].offset_bytes, .num_elements = kernel.slots[i].num_elements});
  }
  for (const Step& step : program.once) step.handler(&step, frame);
  for (std::uint64_t group = first_group; group < end_group; ++group) {
    frame.group = static_cast<std::int64_t>(group);
    const Step* step = program.group.data();
    while (step->handler) step = step->handler(step, frame);
  }
}

/// Registers and private memory of one run at a time.
struct Workspace {
  Workspace(std::uint64_t register_bytes, std::uint64_t private_bytes)
      : registers(register_bytes / sizeof(Chunk) + 1), private_memory(private_bytes / sizeof(Chunk) + 1) {
    frame.registers = registers.data()->bytes;
  }
  struct alignas(64) Chunk {
    std::byte bytes[64];
  };
  std::vector<Chunk> registers;
  std::vector<Chunk> private_memory;
  Frame frame;
};

class InterpretedKernel final : public HostKernel {
 public:
  InterpretedKernel(MachineKernel kernel, MemoryPlan plan)
      : kernel_(std::move(kernel)), plan_(std::move(plan)), program_(interpreter::decode(kernel_)) {}

  Status run(const KernelArgs& args, std::uint32_t first_group, std::uint32_t end_group) const override {
    if (kernel_.workgroup_size > 1) {
      return unimplemented("kernel '" + kernel_.name + "': workgroups of " + std::to_string(kernel_.workgroup_size) +
                           " threads, the interpreter runs one thread a workgroup");
    }
    std::unique_ptr<Workspace> workspace = take();
    workspace->frame.args = &args;
    run_groups(program_, kernel_, plan_, workspace->frame, workspace->private_memory.data()->bytes, first_group,
               end_group);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
    return {};
  }

 private:
  /// One that an earlier run left, so that runs allocate nothing once as many workspaces exist as run at a time.
  std::unique_ptr<Workspace> take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Workspace> workspace = std::move(idle_.back());
        idle_.pop_back();
        return workspace;
      }
    }
    return std::make_unique<Workspace>(program_.register_bytes, plan_.private_bytes);
  }

  MachineKernel kernel_;
  MemoryPlan plan_;
  Program program_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace

Status interpret_kernel(const MachineKernel& kernel, const MemoryPlan& plan, const KernelArgs& args,
                        std::uint32_t first_group, std::uint32_t end_group) {
  return InterpretedKernel(kernel, plan).run(args, first_group, end_group);
}

std::shared_ptr<const HostKernel> make_interpreted_kernel(MachineKernel kernel, MemoryPlan plan) {
  return std::make_shared<InterpretedKernel>(std::move(kernel), std::move(plan));
}

}  // namespace millrace
