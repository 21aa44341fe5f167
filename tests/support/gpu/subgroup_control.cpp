// SPDX-License-Identifier: Apache-2.0
// Branches and loops, with divergent and with uniform threads.
#include <algorithm>
#include <iterator>

#include "tests/support/gpu/subgroup_code.h"

namespace millrace {

void SubgroupCode::emit_block(BlockId block, const Mask& mask) {
  for (const MachineInstruction& instruction : source_.blocks[block].instructions) emit(instruction, mask);
}

SubgroupCode::Values SubgroupCode::carry(std::span<const MachineValueId> ids) {
  Values carried;
  for (const MachineValueId id : ids) std::ranges::copy(spread_values(id), std::back_inserter(carried));
  return carried;
}

void SubgroupCode::define_carried(std::span<const MachineValueId> ids, std::span<const MachineValue> carried) {
  for (const MachineValueId id : ids) {
    const auto mine = carried.first(lanes_of(id));
    define(id, Values(mine.begin(), mine.end()));
    carried = carried.subspan(mine.size());
  }
}

SubgroupCode::Values SubgroupCode::emit_if(const MachineInstruction& instruction, const Mask& mask) {
  const MachineValue condition = operand(instruction, 0);
  if (condition.lanes == 1) {
    const auto branch = [&](std::size_t i) {
      emit_block(instruction.blocks[i], mask);
      return carry(source_.blocks[instruction.blocks[i]].yields);
    };
    return builder_.if_else(condition, [&] { return branch(0); }, [&] { return branch(1); });
  }
  const MachineValue otherwise = builder_.eq(condition, zero(DType::kBool));
  Values results = emit_branch(instruction.blocks[0], both(mask, condition), instruction.results);
  const Values others = emit_branch(instruction.blocks[1], both(mask, otherwise), instruction.results);
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = builder_.select(condition, results[i], others[i]);
  return results;
}

/// The block for these threads, skipped if the mask is empty.
SubgroupCode::Values SubgroupCode::emit_branch(BlockId block, MachineValue threads,
                                               std::span<const MachineValueId> results) {
  if (results.empty() && source_.blocks[block].instructions.empty()) return {};
  const auto taken = [&] {
    emit_block(block, threads);
    return carry(source_.blocks[block].yields);
  };
  const auto left_out = [&] {
    Values nothing;
    for (const MachineValueId id : results) {
      nothing.insert(nothing.end(), lanes_of(id), builder_.splat(zero(source_.types[id].dtype), num_threads_));
    }
    return nothing;
  };
  return builder_.if_else(builder_.reduce(KernelOp::kReduceMax, threads), taken, left_out);
}

/// Each thread has its own number of iterations: the loop runs as long as one of them needs it.
SubgroupCode::Values SubgroupCode::emit_for(const MachineInstruction& instruction, const Mask& mask) {
  const MachineValue lower = operand(instruction, 0), upper = operand(instruction, 1), step = operand(instruction, 2);
  if (lower.lanes == 1 && upper.lanes == 1 && step.lanes == 1) return emit_uniform_for(instruction, mask);
  auto& b = builder_;
  const auto wide = [&](MachineValue bound) { return b.convert(DType::kI64, bound); };
  const MachineValue one = b.i64(1), nothing = b.i64(0);
  const MachineValue from = wide(lower), to = wide(upper), by = wide(step);
  const MachineValue distance = b.sub(to, from), rest = b.sub(by, one);
  const MachineValue has_iterations = both(mask, b.lt(lower, upper));
  const MachineValue iterations = b.select(has_iterations, b.div(b.add(distance, rest), by), nothing);
  const MachineValue max_iterations = b.reduce(KernelOp::kReduceMax, iterations);
  const Values initial = carry(std::span(instruction.operands).subspan(3));
  const Block& body = source_.blocks[instruction.blocks[0]];
  return b.for_loop(nothing, max_iterations, one, initial, [&](MachineValue iteration, const Values& carried) {
    define(body.parameters[0], {b.add(lower, b.mul(step, b.convert(lower.dtype, iteration)))});
    define_carried(std::span(body.parameters).subspan(1), carried);
    const MachineValue threads = b.lt(iteration, iterations);
    emit_block(instruction.blocks[0], threads);
    Values next = carry(body.yields);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = b.select(threads, next[i], carried[i]);
    return next;
  });
}

SubgroupCode::Values SubgroupCode::emit_uniform_for(const MachineInstruction& instruction, const Mask& mask) {
  const Values initial = carry(std::span(instruction.operands).subspan(3));
  const Block& body = source_.blocks[instruction.blocks[0]];
  const auto iteration = [&](MachineValue index, const Values& carried) {
    define(body.parameters[0], {index});
    define_carried(std::span(body.parameters).subspan(1), carried);
    emit_block(instruction.blocks[0], mask);
    return carry(body.yields);
  };
  const MachineValue lower = operand(instruction, 0), upper = operand(instruction, 1), step = operand(instruction, 2);
  return builder_.for_loop(lower, upper, step, initial, iteration);
}

}  // namespace millrace
