// SPDX-License-Identifier: Apache-2.0
// Compiles the elementwise epilogue of a product to vector code for a tile.
#include "jit/xbyak/epilogue.h"

#include <limits>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr std::uint32_t kNever = 0;

class EpilogueCompiler {
 public:
  EpilogueCompiler(const Body& body, const GemmProblem& problem) : body_(body), problem_(problem) {}

  Result<EpilogueProgram> run() {
    find_last_uses();
    for (std::uint32_t i = 0; i < body_.instructions.size(); ++i) MILLRACE_TRY(append(i));
    for (std::uint32_t i = 0; i < body_.yields.size(); ++i) append_store(i);
    return std::move(program_);
  }

 private:
  const BodyInstruction& instruction(std::uint32_t i) const { return body_.instructions[BodyValueId{i}]; }
  bool is_fetched(std::uint32_t i) const {
    return instruction(i).op == KernelOp::kConstant || instruction(i).op == KernelOp::kLoad;
  }

  /// Finds the last step that uses each value. Steps are numbered from 1: first the instructions, then the stores.
  /// kNever marks an unused value.
  void find_last_uses() {
    const auto count = static_cast<std::uint32_t>(body_.instructions.size());
    last_use_.assign(count, kNever);
    slot_.assign(count, 0);
    for (std::uint32_t i = 0; i < body_.yields.size(); ++i) last_use_[index_of(body_.yields[i])] = count + i + 1;
    for (std::uint32_t i = count; i-- > 0;) {
      if (last_use_[i] == kNever) continue;
      for (unsigned o = 0; o < instruction(i).num_operands; ++o) {
        std::uint32_t& last = last_use_[index_of(instruction(i).operands[o])];
        last = std::max(last, i + 1);
      }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      if (instruction(i).op == KernelOp::kReduced)
        accumulator_last_use_ = std::max(accumulator_last_use_, last_use_[i]);
    }
    in_use_.assign(1, accumulator_last_use_ != kNever);
  }

  std::uint8_t take_slot() {
    for (std::size_t slot = 0; slot < in_use_.size(); ++slot) {
      if (in_use_[slot]) continue;
      in_use_[slot] = true;
      return static_cast<std::uint8_t>(slot);
    }
    in_use_.push_back(true);
    program_.num_slots = static_cast<int>(in_use_.size());
    return static_cast<std::uint8_t>(in_use_.size() - 1);
  }

  /// The slot that holds the value. A constant or a loaded value is first fetched into a new slot.
  std::uint8_t fetch(std::uint32_t value) {
    if (!is_fetched(value)) return slot_[value];
    const BodyInstruction& from = instruction(value);
    EpilogueStep step;
    step.result = take_slot();
    if (from.op == KernelOp::kLoad) {
      step.kind = EpilogueStep::Kind::kLoad;
      step.immediate = problem_.load_slot[from.immediate];
    } else {
      step.kind = EpilogueStep::Kind::kConstant;
      step.immediate = from.dtype == DType::kBool ? 0u - static_cast<std::uint32_t>(from.immediate != 0)
                                                  : static_cast<std::uint32_t>(from.immediate);
    }
    program_.steps.push_back(step);
    return step.result;
  }

  void release(std::uint32_t value, std::uint8_t slot, std::uint32_t step) {
    const bool is_accumulator = instruction(value).op == KernelOp::kReduced;
    const std::uint32_t last = is_accumulator ? accumulator_last_use_ : last_use_[value];
    if (is_fetched(value) || last == step) in_use_[slot] = false;
  }

  Status append(std::uint32_t i) {
    const BodyInstruction& from = instruction(i);
    if (last_use_[i] == kNever || is_fetched(i) || from.op == KernelOp::kReduced) return {};
    EpilogueStep step;
    MILLRACE_TRY(find_row(i, step));
    for (unsigned o = 0; o < from.num_operands; ++o) step.source[o] = fetch(index_of(from.operands[o]));
    for (int s = 0; s < step.op->num_scratch; ++s) step.scratch[s] = take_slot();
    for (unsigned o = 0; o < from.num_operands; ++o) release(index_of(from.operands[o]), step.source[o], i + 1);
    for (int s = 0; s < step.op->num_scratch; ++s) in_use_[step.scratch[s]] = false;
    step.result = slot_[i] = take_slot();
    program_.steps.push_back(step);
    return {};
  }

  Status find_row(std::uint32_t i, EpilogueStep& step) const {
    const BodyInstruction& from = instruction(i);
    if (from.num_operands > 0) {
      const DType operand = instruction(index_of(from.operands[from.num_operands - 1u])).dtype;
      step.op = find_vector_op(from.op, operand, from.dtype);
      if (step.op != nullptr) return {};
      return unimplemented(fmt::format("epilogue %{} = {}: no vector op from {} to {}", i, to_text(from.op),
                                       to_text(operand), to_text(from.dtype)));
    }
    return unimplemented(fmt::format("epilogue %{} = {}: no vector op for it", i, to_text(from.op)));
  }

  void append_store(std::uint32_t result) {
    const std::uint32_t value = index_of(body_.yields[result]);
    EpilogueStep step;
    step.kind = EpilogueStep::Kind::kStore;
    step.source[0] = fetch(value);
    step.immediate = result;
    program_.steps.push_back(step);
    release(value, step.source[0], static_cast<std::uint32_t>(body_.instructions.size()) + result + 1);
  }

  const Body& body_;
  const GemmProblem& problem_;
  EpilogueProgram program_;
  std::vector<std::uint32_t> last_use_;
  std::vector<std::uint8_t> slot_;
  std::vector<bool> in_use_;
  std::uint32_t accumulator_last_use_ = kNever;
};

}  // namespace

Result<EpilogueProgram> compile_epilogue(const Body& epilogue, const GemmProblem& problem) {
  return EpilogueCompiler(epilogue, problem).run();
}

}  // namespace millrace
