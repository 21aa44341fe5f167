// SPDX-License-Identifier: Apache-2.0
// Places a kernel's slots. Phases are counted at barriers in program order; a slot lives from the first to the last
// phase that touches it, and for the whole of any loop with a barrier that it is touched in. Slots whose lives do not
// meet share bytes. Without barriers there is one phase, and nothing is shared.
#include "millrace/jit/memory_plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr std::uint64_t kAlignment = 64;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Lives {
 public:
  explicit Lives(const MachineKernel& kernel) : kernel_(kernel), lives_(kernel.slots.size()) { walk(BlockId{0}); }

  struct Life {
    bool is_touched = false;
    std::uint32_t first = 0, last = 0;
  };
  const Life& operator[](std::size_t slot) const { return lives_[slot]; }

 private:
  void touch(std::uint32_t slot, std::uint32_t first, std::uint32_t last) {
    Life& life = lives_[slot];
    life.first = life.is_touched ? std::min(life.first, first) : first;
    life.last = life.is_touched ? std::max(life.last, last) : last;
    life.is_touched = true;
  }

  void walk(BlockId block) {
    for (const MachineInstruction& instruction : kernel_.blocks[block].instructions) {
      if (instruction.op == KernelOp::kBarrier) ++phase_;
      if (is_memory_op(instruction.op)) {
        const MemoryRef memory = MemoryRef::decode(instruction.immediate);
        if (memory.is_slot) {
          touch(memory.index, phase_, phase_);
          touched_.push_back(memory.index);
        }
      }
      const std::uint32_t start = phase_;
      const std::size_t mark = touched_.size();
      for (BlockId inner : instruction.blocks) walk(inner);
      // What a loop touches must last from its first phase to its last: the next turn may read it.
      if (instruction.op == KernelOp::kFor && phase_ != start) {
        for (std::size_t i = mark; i < touched_.size(); ++i) touch(touched_[i], start, phase_);
      }
    }
  }

  static bool is_memory_op(KernelOp op) {
    return op == KernelOp::kLoadVector || op == KernelOp::kLoadMasked || op == KernelOp::kGather ||
           op == KernelOp::kStoreVector || op == KernelOp::kStoreMasked || op == KernelOp::kScatter;
  }

  const MachineKernel& kernel_;
  std::vector<Life> lives_;
  std::vector<std::uint32_t> touched_;
  std::uint32_t phase_ = 0;
};

bool live_together(const PlannedSlot& a, const PlannedSlot& b) {
  return a.first_phase <= b.last_phase && b.first_phase <= a.last_phase;
}

/// The lowest offset at which the slot meets none of those placed before; returns the kind's bytes so far.
std::uint64_t place(PlannedSlot& slot, const std::vector<PlannedSlot>& placed) {
  std::vector<const PlannedSlot*> rivals;
  for (const PlannedSlot& other : placed) {
    if (other.kind == slot.kind && live_together(slot, other)) rivals.push_back(&other);
  }
  std::sort(rivals.begin(), rivals.end(),
            [](const PlannedSlot* a, const PlannedSlot* b) { return a->offset_bytes < b->offset_bytes; });
  for (const PlannedSlot* rival : rivals) {
    if (slot.offset_bytes + slot.size_bytes <= rival->offset_bytes) break;
    slot.offset_bytes = std::max(slot.offset_bytes, aligned(rival->offset_bytes + rival->size_bytes));
  }
  return slot.offset_bytes + slot.size_bytes;
}

Status check_limit(const MachineKernel& kernel, const TargetSpec& target, std::string_view what, std::uint64_t planned,
                   std::uint64_t limit) {
  if (planned <= limit) return {};
  return resource_exhausted(
      fmt::format("{}: {} bytes of {} memory planned, {} has {}", kernel.name, planned, what, target.to_text(), limit));
}

}  // namespace

MemoryLimits memory_limits(const TargetSpec&) { return {512 * 1024, 64 * 1024}; }

Result<MemoryPlan> plan_memory(const MachineKernel& kernel, const TargetSpec& target) {
  MILLRACE_TRY(verify(kernel));
  const Lives lives(kernel);
  MemoryPlan plan;
  for (std::size_t i = 0; i < kernel.slots.size(); ++i) {
    const MemorySlot& slot = kernel.slots[i];
    const std::uint64_t bytes = slot.num_elements * size_bytes(slot.dtype);
    PlannedSlot planned{slot.name, slot.kind, 0, bytes, lives[i].first, lives[i].last};
    std::uint64_t& total = slot.kind == MemoryKind::kPrivate ? plan.private_bytes : plan.workgroup_bytes;
    total = std::max(total, place(planned, plan.slots));
    plan.slots.push_back(std::move(planned));
  }
  const MemoryLimits limits = memory_limits(target);
  MILLRACE_TRY(check_limit(kernel, target, "workgroup", plan.workgroup_bytes, limits.workgroup_bytes));
  MILLRACE_TRY(check_limit(kernel, target, "private", plan.private_bytes, limits.private_bytes));
  return plan;
}

std::string to_text(const MemoryPlan& plan) {
  std::string text = fmt::format("workgroup {} bytes, private {} bytes\n", plan.workgroup_bytes, plan.private_bytes);
  for (const PlannedSlot& slot : plan.slots) {
    text += fmt::format("{:>10} {:>10}  phases {}-{}  {} {}\n", slot.offset_bytes, slot.size_bytes, slot.first_phase,
                        slot.last_phase, slot.kind == MemoryKind::kPrivate ? "private" : "workgroup", slot.name);
  }
  return text;
}

}  // namespace millrace
