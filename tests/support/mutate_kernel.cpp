// SPDX-License-Identifier: Apache-2.0
#include "tests/support/mutate_kernel.h"

#include <algorithm>
#include <functional>

namespace millrace::test {
namespace {

/// Calls `mutate` at every instruction, each time on a copy of the kernel; keeps those that it says it changed.
std::vector<Mutant> mutate_each(const MachineKernel& kernel,
                                const std::function<bool(MachineKernel&, BlockId, std::size_t)>& mutate) {
  std::vector<Mutant> mutants;
  for (std::uint32_t block = 0; block < kernel.blocks.size(); ++block) {
    const BlockId id{block};
    for (std::size_t i = 0; i < kernel.blocks[id].instructions.size(); ++i) {
      MachineKernel copy = kernel;
      const std::string op(to_text(copy.blocks[id].instructions[i].op));
      if (!mutate(copy, id, i)) continue;
      mutants.push_back(
          {"block " + std::to_string(block) + ", instruction " + std::to_string(i) + " (" + op + ")", std::move(copy)});
    }
  }
  return mutants;
}

MachineInstruction* definition(MachineKernel& kernel, MachineValueId value) {
  for (std::uint32_t block = 0; block < kernel.blocks.size(); ++block) {
    for (MachineInstruction& instruction : kernel.blocks[BlockId{block}].instructions) {
      if (instruction.results == std::vector{value}) return &instruction;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<Mutant> without_each_barrier(const MachineKernel& kernel) {
  return mutate_each(kernel, [](MachineKernel& mutant, BlockId block, std::size_t i) {
    auto& instructions = mutant.blocks[block].instructions;
    if (instructions[i].op != KernelOp::kBarrier) return false;
    instructions.erase(instructions.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  });
}

std::vector<Mutant> with_each_slot_shorter(const MachineKernel& kernel) {
  std::vector<Mutant> mutants;
  for (std::size_t i = 0; i < kernel.slots.size(); ++i) {
    mutants.push_back({"slot " + kernel.slots[i].name, kernel});
    --mutants.back().kernel.slots[i].num_elements;
  }
  return mutants;
}

std::vector<Mutant> with_each_bound_off_by_one(const MachineKernel& kernel) {
  return mutate_each(kernel, [](MachineKernel& mutant, BlockId block, std::size_t i) {
    const MachineInstruction& branch = mutant.blocks[block].instructions[i];
    if (branch.op != KernelOp::kIf) return false;
    MachineInstruction* condition = definition(mutant, branch.operands[0]);
    if (condition == nullptr || condition->op != KernelOp::kLt) return false;
    condition->op = KernelOp::kLe;
    return true;
  });
}

std::vector<Mutant> without_each_guard(const MachineKernel& kernel) {
  return mutate_each(kernel, [](MachineKernel& mutant, BlockId block, std::size_t i) {
    if (mutant.blocks[block].instructions[i].op != KernelOp::kIf) return false;
    const MachineValueId always = mutant.types.push_back({DType::kBool, 1});
    mutant.blocks[block].instructions[i].operands[0] = always;
    auto& body = mutant.blocks[BlockId{}].instructions;
    body.insert(body.begin(),
                {.op = KernelOp::kConstant, .operands = {}, .results = {always}, .immediate = 1, .blocks = {}});
    return true;
  });
}

std::vector<MemoryPlan> with_each_pair_of_slots_overlapped(const MemoryPlan& plan) {
  std::vector<MemoryPlan> plans;
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    for (std::size_t j = i + 1; j < plan.slots.size(); ++j) {
      if (plan.slots[i].kind != plan.slots[j].kind) continue;
      plans.push_back(plan);
      // The lower place has room for either.
      const std::uint64_t offset = std::min(plan.slots[i].offset_bytes, plan.slots[j].offset_bytes);
      plans.back().slots[i].offset_bytes = plans.back().slots[j].offset_bytes = offset;
    }
  }
  return plans;
}

}  // namespace millrace::test
