// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/mutate_kernel.h"

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

bool is_masked(KernelOp op) {
  return op == KernelOp::kLoadMasked || op == KernelOp::kStoreMasked || op == KernelOp::kGather ||
         op == KernelOp::kScatter;
}

/// The comparisons a < b that a condition is, or is joined of.
void collect_bounds(MachineKernel& kernel, MachineValueId condition, std::vector<MachineInstruction*>& bounds) {
  MachineInstruction* made = definition(kernel, condition);
  if (made == nullptr) return;
  if (made->op == KernelOp::kLt && std::ranges::find(bounds, made) == bounds.end()) bounds.push_back(made);
  if (made->op != KernelOp::kAnd && made->op != KernelOp::kSplat) return;
  for (const MachineValueId operand : made->operands) collect_bounds(kernel, operand, bounds);
}

/// Those of all branches and masks, each once.
std::vector<MachineInstruction*> guard_bounds(MachineKernel& kernel) {
  std::vector<MachineInstruction*> bounds;
  for (std::uint32_t block = 0; block < kernel.blocks.size(); ++block) {
    for (const MachineInstruction& instruction : kernel.blocks[BlockId{block}].instructions) {
      if (instruction.op == KernelOp::kIf) collect_bounds(kernel, instruction.operands[0], bounds);
      if (is_masked(instruction.op)) collect_bounds(kernel, instruction.operands[1], bounds);
    }
  }
  return bounds;
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
  std::vector<Mutant> mutants;
  MachineKernel copy = kernel;
  for (std::size_t i = 0; i < guard_bounds(copy).size(); ++i) {
    MachineKernel mutant = kernel;
    MachineInstruction* bound = guard_bounds(mutant)[i];
    bound->op = KernelOp::kLe;
    mutants.push_back({"bound " + std::to_string(i), std::move(mutant)});
  }
  return mutants;
}

std::vector<Mutant> with_each_loop_off_by_one(const MachineKernel& kernel) {
  std::vector<Mutant> mutants;
  for (const KernelOp change : {KernelOp::kAdd, KernelOp::kSub}) {
    const auto changed = mutate_each(kernel, [&](MachineKernel& mutant, BlockId block, std::size_t i) {
      auto& body = mutant.blocks[block].instructions;
      if (body[i].op != KernelOp::kFor) return false;
      const MachineValueId upper = body[i].operands[1], step = body[i].operands[2];
      const MachineValueId moved = mutant.types.push_back(mutant.types[upper]);
      body[i].operands[1] = moved;
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(i),
                  {.op = change, .operands = {upper, step}, .results = {moved}, .immediate = 0, .blocks = {}});
      return true;
    });
    mutants.insert(mutants.end(), changed.begin(), changed.end());
  }
  return mutants;
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

std::vector<Mutant> without_each_mask(const MachineKernel& kernel) {
  return mutate_each(kernel, [](MachineKernel& mutant, BlockId block, std::size_t i) {
    if (!is_masked(mutant.blocks[block].instructions[i].op)) return false;
    MachineValueId& mask = mutant.blocks[block].instructions[i].operands[1];
    const std::uint32_t lanes = mutant.types[mask].lanes;
    const MachineValueId all = mutant.types.push_back({DType::kBool, 1}),
                         of_lanes = mutant.types.push_back({DType::kBool, lanes});
    mask = lanes == 1 ? all : of_lanes;
    auto& body = mutant.blocks[BlockId{}].instructions;
    if (lanes > 1) {
      body.insert(body.begin(),
                  {.op = KernelOp::kSplat, .operands = {all}, .results = {of_lanes}, .immediate = 0, .blocks = {}});
    }
    body.insert(body.begin(),
                {.op = KernelOp::kConstant, .operands = {}, .results = {all}, .immediate = 1, .blocks = {}});
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
