// SPDX-License-Identifier: Apache-2.0
// Places the workgroup and private memory of a machine kernel: slots whose lifetimes do not overlap share bytes.
#include "millrace/jit/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/guard_allocations.h"

namespace millrace {
namespace {

/// The memory limits of a kernel on a CPU. Each worker thread has a block of workgroup memory. Its size is half the L2
/// cache that gemm_blocking.cpp assumes. Private memory is on the stack of the thread that runs the kernel.
constexpr std::uint64_t kCpuWorkgroupBytes = 512 << 10, kCpuPrivateBytes = 64 << 10;
constexpr std::uint64_t kSlotAlignment = 64;  // a cache line, also the widest vector

/// The first and last phase in which a slot is touched.
struct Lifetime {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t last = 0;
  bool is_touched() const { return first <= last; }
  void touch(std::uint32_t phase) { extend({phase, phase}); }
  void extend(const Lifetime& other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

using Lifetimes = std::vector<Lifetime>;

/// Numbers phases in program order; each barrier begins a new phase. A slot that is touched inside a loop or a branch
/// lives during the whole loop or branch: a later iteration may read what an earlier one wrote, and the phases of a
/// branch's second block are numbered after those of the first. A barrier that may be skipped at run time does not
/// separate phases.
class PhaseWalk {
 public:
  explicit PhaseWalk(const MachineKernel& kernel) : kernel_(kernel), constants_(kernel.types.size()) {}

  Lifetimes run() {
    Lifetimes lifetimes = walk(BlockId{});
    const auto num_phases = static_cast<std::uint32_t>(is_passed_.size());
    for (Lifetime& lifetime : lifetimes) {
      if (!lifetime.is_touched()) continue;
      while (!is_passed_[lifetime.first]) --lifetime.first;
      while (lifetime.last + 1 < num_phases && !is_passed_[lifetime.last + 1]) ++lifetime.last;
    }
    return lifetimes;
  }

 private:
  std::uint32_t phase() const { return static_cast<std::uint32_t>(is_passed_.size()) - 1; }

  Lifetimes walk(BlockId id) {
    Lifetimes lifetimes(kernel_.slots.size());
    for (const MachineInstruction& instruction : kernel_.blocks[id].instructions) {
      if (instruction.op == KernelOp::kConstant) constants_[index_of(instruction.results[0])] = instruction.immediate;
      if (instruction.op == KernelOp::kBarrier) is_passed_.push_back(true);
      if (touches_memory(instruction.op)) {
        const MemoryRef memory = MemoryRef::decode(instruction.immediate);
        if (memory.is_slot) lifetimes[memory.index].touch(phase());
      }
      if (!instruction.blocks.empty()) walk_blocks(instruction, lifetimes);
    }
    return lifetimes;
  }

  void walk_blocks(const MachineInstruction& instruction, Lifetimes& lifetimes) {
    const std::uint32_t first = phase();
    bool passes = instruction.op == KernelOp::kIf || runs_at_least_once(instruction);
    std::vector<Lifetimes> inner;
    for (const BlockId block : instruction.blocks) {
      const std::uint32_t start = phase();
      inner.push_back(walk(block));
      passes = passes && std::find(is_passed_.begin() + start + 1, is_passed_.end(), true) != is_passed_.end();
    }
    if (!passes) std::fill(is_passed_.begin() + first + 1, is_passed_.end(), false);
    for (const Lifetimes& block : inner) {
      for (std::size_t i = 0; i < block.size(); ++i) {
        if (block[i].is_touched()) lifetimes[i].extend({first, phase()});
      }
    }
  }

  bool runs_at_least_once(const MachineInstruction& loop) const {
    const auto lower = constants_[index_of(loop.operands[0])], upper = constants_[index_of(loop.operands[1])];
    if (!lower || !upper) return false;
    const DType dtype = kernel_.types[loop.operands[0]].dtype;
    return Scalar{dtype, *lower}.to_double() < Scalar{dtype, *upper}.to_double();
  }

  const MachineKernel& kernel_;
  std::vector<std::optional<std::uint64_t>> constants_;  // by value; empty for non-constants
  std::vector<bool> is_passed_{true};  // by phase: whether every execution passes the barrier that begins it
};

bool live_together(const PlannedSlot& a, const PlannedSlot& b) {
  return a.kind == b.kind && a.first_phase <= b.last_phase && b.first_phase <= a.last_phase;
}

/// The lowest offset at which `slot` does not overlap any of the `placed` slots that live at the same time.
std::uint64_t lowest_offset(const PlannedSlot& slot, const std::vector<PlannedSlot>& slots,
                            const std::vector<std::size_t>& placed) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (const std::size_t other : placed) {
    if (!live_together(slot, slots[other])) continue;
    taken.emplace_back(slots[other].offset_bytes, slots[other].offset_bytes + slots[other].size_bytes);
  }
  std::ranges::sort(taken);
  std::uint64_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (offset + slot.size_bytes <= begin) break;
    offset = std::max(offset, (end + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment);
  }
  return offset;
}

/// Places the largest slots first, so that small slots fill the gaps.
void place(MemoryPlan& plan) {
  std::vector<std::size_t> order(plan.slots.size());
  std::iota(order.begin(), order.end(), 0);
  // Compares indices last to make the order stable: clang 19 does not compile GCC 12's ranges::stable_sort.
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const std::uint64_t left = plan.slots[a].size_bytes, right = plan.slots[b].size_bytes;
    return left != right ? left > right : a < b;
  });
  std::vector<std::size_t> placed;
  for (const std::size_t i : order) {
    PlannedSlot& slot = plan.slots[i];
    if (slot.size_bytes == 0) continue;
    slot.offset_bytes = lowest_offset(slot, plan.slots, placed);
    placed.push_back(i);
    std::uint64_t& total = slot.kind == MemoryKind::kWorkgroup ? plan.workgroup_bytes : plan.private_bytes;
    total = std::max(total, slot.offset_bytes + slot.size_bytes);
  }
}

std::string bytes_text(std::uint64_t bytes) {
  return bytes % 1024 == 0 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} bytes", bytes);
}

Status check_limit(const MachineKernel& kernel, MemoryKind kind, std::uint64_t planned, std::uint64_t limit,
                   const TargetSpec& spec) {
  if (planned <= limit) return {};
  return resource_exhausted(fmt::format("{}: {} of {} memory planned, {} has {}", kernel.name, bytes_text(planned),
                                        to_text(kind), spec.to_text(), bytes_text(limit)));
}

}  // namespace

MemoryLimits memory_limits(const TargetSpec& spec) {
  if (spec.is_cpu()) return {.workgroup_bytes = kCpuWorkgroupBytes, .private_bytes = kCpuPrivateBytes};
  if (const GfxTarget* gfx = spec.gfx_target()) {
    return {.workgroup_bytes = gfx->workgroup_memory_bytes, .private_bytes = gfx->private_memory_bytes};
  }
  return {};  // unknown target: nothing fits
}

Result<MemoryPlan> plan_memory(const MachineKernel& kernel, const TargetSpec& spec) {
  return guard_allocations([&]() -> Result<MemoryPlan> {
    const Lifetimes lifetimes = PhaseWalk(kernel).run();
    MemoryPlan plan;
    for (std::size_t i = 0; i < kernel.slots.size(); ++i) {
      const MemorySlot& slot = kernel.slots[i];
      PlannedSlot planned{.name = slot.name, .kind = slot.kind, .row = slot.row};
      if (lifetimes[i].is_touched()) {
        constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 48;  // so that the sums below do not wrap
        const std::uint64_t num_elements = std::min(slot.num_elements, kMaxElements);
        planned.size_bytes = num_elements * size_bytes(slot.dtype);
        planned.first_phase = lifetimes[i].first;
        planned.last_phase = lifetimes[i].last;
      }
      plan.slots.push_back(std::move(planned));
    }
    place(plan);
    const MemoryLimits limits = memory_limits(spec);
    MILLRACE_TRY(check_limit(kernel, MemoryKind::kWorkgroup, plan.workgroup_bytes, limits.workgroup_bytes, spec));
    MILLRACE_TRY(check_limit(kernel, MemoryKind::kPrivate, plan.private_bytes, limits.private_bytes, spec));
    return plan;
  });
}

std::string to_text(const MemoryPlan& plan) {
  std::string text = fmt::format("workgroup {} bytes, private {} bytes\n", plan.workgroup_bytes, plan.private_bytes);
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const PlannedSlot& slot = plan.slots[i];
    if (slot.size_bytes == 0) {
      text += fmt::format("#{} {}: {}, not touched\n", i, slot.name, to_text(slot.kind));
      continue;
    }
    text += fmt::format("#{} {}: {} bytes of {} at {}, phases {} to {}", i, slot.name, slot.size_bytes,
                        to_text(slot.kind), slot.offset_bytes, slot.first_phase, slot.last_phase);
    if (slot.row.padding_elements > 0) {
      text += fmt::format(", {} of {} elements of a row are padding", slot.row.padding_elements, slot.row.pitch());
    }
    text += '\n';
  }
  return text;
}

}  // namespace millrace
