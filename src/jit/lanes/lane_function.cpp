// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/lane_function.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr LaneValue kFirstHoisted = 1 << 24;  // above the number of any instruction

constexpr std::string_view kNames[] = {
    "constant",
    "numbers",
    "broadcast",
    "load",
    "add",
    "mul",
    "min",
    "max",
    "and",
    "or",
    "xor",
    "add_float",
    "sub_float",
    "mul_float",
    "div_float",
    "min_float",
    "max_float",
    "from_half",
    "to_half",
    "from_int",
    "to_int",
    "shift_left",
    "shift_right",
    "shift_right_signed",
    "turn_negative",
    "turn_negative_inverted",
    "xor_lanes",
    "move_up",
    "move_down",
    "spread",
    "regroup_low",
    "regroup_high",
    "exchange",
    "select",
    "select_bits",
    "count_bits",
    "compress",
    "variable",
    "assign",
    "less",
    "at_most",
    "equal",
    "less_float",
    "not_at_most_float",
    "unordered",
    "not",
    "both",
    "either",
    "store",
    "stream",
    "store_mask",
    "append",
    "append_exact",
    "prefetch",
    "prefetch_to_write",
    "advance",
    "advance_by",
    "advance_by_argument",
    "load_pointer",
    "store_pointer",
    "for_each_whole",
    "if_any",
    "end",
    "return",
    "return_any",
    "return_first",
};
static_assert(std::size(kNames) == static_cast<std::size_t>(LaneOp::kReturnFirst) + 1);

}  // namespace

std::string LaneFunction::to_text() const {
  std::string text = fmt::format("lanes {} x i{}\n", num_lanes, lane_bits);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const LaneInstruction& instruction = instructions[i];
    text += makes_vector(instruction.op) || makes_mask(instruction.op) ? fmt::format("  %{} = ", i) : "  ";
    text += kNames[static_cast<std::size_t>(instruction.op)];
    for (const LaneValue operand : {instruction.a, instruction.b}) {
      if (operand != kNoLaneValue) text += fmt::format(" %{}", operand);
    }
    if (instruction.argument >= 0) text += fmt::format(" arg{}+{}", instruction.argument, instruction.offset_bytes);
    if (instruction.by >= 0) text += fmt::format(" by arg{}", instruction.by);
    if (instruction.mask != kNoLaneValue) text += fmt::format(" where %{}", instruction.mask);
    if (instruction.op == LaneOp::kLoad || instruction.op == LaneOp::kStore) {
      text += fmt::format(" {}{}", instruction.element.is_signed ? 'i' : 'u', 8 * instruction.element.bytes);
    }
    text += instruction.imm != 0 ? fmt::format(" {}\n", instruction.imm) : "\n";
  }
  return text;
}

LaneBuilder::LaneBuilder(IsaLevel isa, int lane_bits) : isa_(isa) {
  function_.lane_bits = lane_bits;
  function_.num_lanes = num_lanes_of(isa, lane_bits);
}

LaneValue LaneBuilder::hoisted(const LaneInstruction& instruction) {
  const auto found = std::ranges::find(hoisted_, instruction);
  const auto index = static_cast<LaneValue>(found - hoisted_.begin());
  if (found == hoisted_.end()) hoisted_.push_back(instruction);
  return kFirstHoisted + index;
}

LaneFunction LaneBuilder::finish() {
  const auto num_hoisted = static_cast<LaneValue>(hoisted_.size());
  for (LaneInstruction& instruction : function_.instructions) {
    for (LaneValue* value : {&instruction.a, &instruction.b, &instruction.mask}) {
      if (*value != kNoLaneValue) *value += *value >= kFirstHoisted ? -kFirstHoisted : num_hoisted;
    }
  }
  function_.instructions.insert(function_.instructions.begin(), hoisted_.begin(), hoisted_.end());
  return std::move(function_);
}

LaneValue LaneBuilder::load(int pointer, std::int32_t offset_bytes, LaneElement element) {
  return load_masked(pointer, offset_bytes, element, kNoLaneValue, kNoLaneValue);
}

LaneValue LaneBuilder::load_masked(int pointer, std::int32_t offset_bytes, LaneElement element, LaneValue mask,
                                   LaneValue others) {
  return add({.op = LaneOp::kLoad,
              .a = others,
              .mask = mask,
              .argument = static_cast<std::int8_t>(pointer),
              .element = element,
              .offset_bytes = offset_bytes});
}

void LaneBuilder::store(int pointer, std::int32_t offset_bytes, LaneElement element, LaneValue value, LaneValue mask) {
  add({.op = LaneOp::kStore,
       .a = value,
       .mask = mask,
       .argument = static_cast<std::int8_t>(pointer),
       .element = element,
       .offset_bytes = offset_bytes});
}

void LaneBuilder::append(int pointer, LaneValue value, LaneValue mask, bool exact) {
  const LaneValue compressed = add({.op = LaneOp::kCompress, .a = value, .mask = mask});
  add({.op = exact ? LaneOp::kAppendExact : LaneOp::kAppend,
       .a = compressed,
       .mask = mask,
       .argument = static_cast<std::int8_t>(pointer)});
}

std::pair<LaneValue, LaneValue> LaneBuilder::regroup(LaneValue a, LaneValue b, BitOrder order) {
  const LaneValue low = add({.op = LaneOp::kRegroupLow, .a = a, .b = b, .imm = order.digits()});
  return {low, add({.op = LaneOp::kRegroupHigh, .a = a, .b = b, .imm = order.digits()})};
}

void LaneBuilder::for_vectors(int count, const std::function<void(LaneValue mask)>& body) {
  for_blocks(count, 1, [&] { body(kNoLaneValue); });
  if_any(count, [&] { body(binary(LaneOp::kLess, numbers(), broadcast(count))); });
}

void LaneBuilder::for_loaded_vectors(int count, const std::function<LaneValue(LaneValue mask)>& load,
                                     const std::function<void(LaneValue loaded, LaneValue mask)>& use) {
  const int most_loaded = isa_ == IsaLevel::kAvx512 ? 8 : 4;  // registers hold them beside what `use` needs
  for_blocks(count, most_loaded, [&] {
    std::vector<LaneValue> loaded;
    while (std::ssize(loaded) < most_loaded) loaded.push_back(load(kNoLaneValue));
    for (const LaneValue value : loaded) use(value, kNoLaneValue);
  });
  for_vectors(count, [&](LaneValue mask) { use(load(mask), mask); });
}

void LaneBuilder::if_any(int count, const std::function<void()>& body) {
  add({.op = LaneOp::kIfAny, .argument = static_cast<std::int8_t>(count)});
  body();
  add({.op = LaneOp::kEnd});
}

void LaneBuilder::for_blocks(int count, int vectors_per_block, const std::function<void()>& body) {
  add({.op = LaneOp::kForEachWhole, .argument = static_cast<std::int8_t>(count), .imm = vectors_per_block});
  body();
  add({.op = LaneOp::kEnd});
}

LaneFunction LaneBuilder::finish_with(int returned_argument) {
  add({.op = LaneOp::kReturn, .argument = static_cast<std::int8_t>(returned_argument)});
  return finish();
}

LaneFunction LaneBuilder::finish_with_any(LaneValue value) {
  add({.op = LaneOp::kReturnAny, .a = value});
  return finish();
}

LaneFunction LaneBuilder::finish_with_sum_of_any(LaneValue value, int returned_argument) {
  add({.op = LaneOp::kReturnAny, .a = value, .argument = static_cast<std::int8_t>(returned_argument)});
  return finish();
}

LaneFunction LaneBuilder::finish_with_first(LaneValue value) {
  add({.op = LaneOp::kReturnFirst, .a = value});
  return finish();
}

}  // namespace millrace
