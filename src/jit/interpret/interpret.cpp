// SPDX-License-Identifier: Apache-2.0
// Runs decoded kernels on the host, group by group, with or without an observer of memory accesses.
#include "millrace/jit/interpret.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/interpret/program.h"
#include "jit/ir/instruction_lines.h"

namespace millrace {
namespace {

using interpreter::Frame;
using interpreter::Program;
using interpreter::ProgramKind;
using interpreter::Step;

/// The registers and private memory of one run.
struct Workspace {
  Workspace(const Program& program, const MachineKernel& kernel, const MemoryPlan& plan)
      : registers(program.register_bytes / sizeof(Chunk) + 1),
        private_chunks(plan.private_bytes / sizeof(Chunk) + 1),
        private_memory(private_chunks * kernel.workgroup_size) {
    frame.registers = registers.data()->bytes;
    frame.num_threads = kernel.workgroup_size;
    frame.subgroup_size = kernel.subgroup_size;
    const std::vector<std::uint8_t> everyone(frame.num_threads, 1);
    frame.masks.assign(program.num_masks, {.num_active = frame.num_threads, .is_active = everyone});
    frame.thread_order.resize(frame.num_threads);
    std::iota(frame.thread_order.begin(), frame.thread_order.end(), 0u);
  }
  struct alignas(64) Chunk {
    std::byte bytes[64];
  };
  std::vector<Chunk> registers;
  std::uint64_t private_chunks;  // per thread
  std::vector<Chunk> private_memory;
  Frame frame;
};

void bind_memory(const MachineKernel& kernel, const MemoryPlan& plan, Workspace& workspace) {
  Frame& frame = workspace.frame;
  frame.memory.clear();
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    frame.memory.push_back({.data = static_cast<std::byte*>(frame.args->buffers[i])});
  }
  for (std::size_t i = 0; i < kernel.slots.size(); ++i) {
    const bool is_private = kernel.slots[i].kind == MemoryKind::kPrivate;
    auto* base =
        is_private ? workspace.private_memory.data()->bytes : static_cast<std::byte*>(frame.args->workgroup_memory);
    frame.memory.push_back({.data = base + plan.slots[i].offset_bytes,
                            .num_elements = kernel.slots[i].num_elements,
                            .thread_bytes = is_private ? workspace.private_chunks * sizeof(Workspace::Chunk) : 0});
  }
}

/// The kernel's description for observers.
ObservedKernel describe(const MachineKernel& kernel, const MemoryPlan& plan) {
  ObservedKernel observed{.name = kernel.name,
                          .workgroup_size = kernel.workgroup_size,
                          .subgroup_size = kernel.subgroup_size,
                          .workgroup_bytes = plan.workgroup_bytes,
                          .private_bytes = plan.private_bytes,
                          .memories = {}};
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    const BufferArgument& buffer = kernel.buffers[i];
    observed.memories.push_back({.name = fmt::format("@{} ('{}')", i, buffer.name),
                                 .kind = MemoryKind::kBuffer,
                                 .is_written = buffer.is_written(),
                                 .element_bytes = size_bytes(buffer.dtype)});
  }
  for (std::size_t i = 0; i < kernel.slots.size(); ++i) {
    const MemorySlot& slot = kernel.slots[i];
    observed.memories.push_back({.name = fmt::format("#{} ('{}')", i, slot.name),
                                 .kind = slot.kind,
                                 .element_bytes = size_bytes(slot.dtype),
                                 .num_elements = slot.num_elements,
                                 .offset_bytes = plan.slots[i].offset_bytes});
  }
  return observed;
}

/// Prefixes the error with the line of the failed instruction: "line 14 (barrier): 31 threads ...".
Status place_error(const MachineKernel& kernel, const Status& error, std::uint32_t instruction) {
  const std::uint32_t line = instruction_lines(kernel)[instruction];
  return Status(error.code(), fmt::format("line {} ({}): {}", line, text_of_line(kernel, line), error.message()));
}

class InterpretedKernel final : public HostKernel {
 public:
  InterpretedKernel(MachineKernel kernel, MemoryPlan plan)
      : kernel_(std::move(kernel)),
        plan_(std::move(plan)),
        program_(interpreter::decode(kernel_,
                                     kernel_.workgroup_size == 1 ? ProgramKind::kOneThread : ProgramKind::kThreads)) {}

  Status run(const KernelArgs& args, std::uint32_t first_group, std::uint32_t end_group) const override {
    std::unique_ptr<Workspace> workspace = take();
    begin_run(program_, args, *workspace);
    Status status;
    for (std::uint64_t group = first_group; group < end_group && status.ok(); ++group) {
      status = run_group(program_, workspace->frame, group);
    }
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
    return status;
  }

  Status run_observed(const KernelArgs& args, std::uint32_t first_group, std::uint32_t end_group,
                      const KernelObservation& observation) const override {
    MemoryObserver* observer = observation.observer;
    std::call_once(is_observation_decoded_, [&] { observed_ = decode_observed(); });
    const Program& program = observer != nullptr ? observed_.program : program_;
    Workspace workspace(program, kernel_, plan_);
    Frame& frame = workspace.frame;
    frame.observation = observation;
    frame.random = observation.order_seed;
    frame.lines = observed_.lines.data();
    begin_run(program, args, workspace);
    std::vector<std::uint32_t> groups(std::max(end_group, first_group) - first_group);
    std::iota(groups.begin(), groups.end(), first_group);
    frame.shuffle(groups);
    for (const std::uint32_t group : groups) {
      const std::uint64_t executed = frame.lane_instructions;
      if (observer != nullptr) MILLRACE_TRY(observer->begin_group(observed_.kernel, args, group));
      MILLRACE_TRY(run_group(program, frame, group));
      if (observer != nullptr) observer->end_group(frame.lane_instructions - executed);
    }
    return {};
  }

 private:
  /// The part that only runs with an observer need.
  struct Observed {
    Program program;
    ObservedKernel kernel;
    std::vector<std::uint32_t> lines;  // by instruction
  };

  Observed decode_observed() const {
    return {interpreter::decode(kernel_, ProgramKind::kObservedThreads), describe(kernel_, plan_),
            instruction_lines(kernel_)};
  }

  void begin_run(const Program& program, const KernelArgs& args, Workspace& workspace) const {
    workspace.frame.args = &args;
    bind_memory(kernel_, plan_, workspace);
    for (const Step& step : program.once) step.handler(&step, workspace.frame);
  }

  Status run_group(const Program& program, Frame& frame, std::uint64_t group) const {
    frame.group = static_cast<std::int64_t>(group);
    const Step* step = program.group.data();
    while (step->handler) step = step->handler(step, frame);
    return frame.error.ok() ? Status() : place_error(kernel_, std::exchange(frame.error, {}), frame.error_instruction);
  }

  /// Reuses the workspace of an earlier run if one is idle, so that most runs allocate nothing.
  std::unique_ptr<Workspace> take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Workspace> workspace = std::move(idle_.back());
        idle_.pop_back();
        return workspace;
      }
    }
    return std::make_unique<Workspace>(program_, kernel_, plan_);
  }

  MachineKernel kernel_;
  MemoryPlan plan_;
  Program program_;
  mutable std::once_flag is_observation_decoded_;
  mutable Observed observed_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace

Status interpret_kernel(const MachineKernel& kernel, const MemoryPlan& plan, const KernelArgs& args,
                        std::uint32_t first_group, std::uint32_t end_group) {
  return guard_allocations([&] { return InterpretedKernel(kernel, plan).run(args, first_group, end_group); });
}

std::shared_ptr<const HostKernel> make_interpreted_kernel(MachineKernel kernel, MemoryPlan plan) {
  return std::make_shared<InterpretedKernel>(std::move(kernel), std::move(plan));
}

}  // namespace millrace
