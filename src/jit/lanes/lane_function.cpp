// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/lane_function.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr LaneValue kFirstHoisted = 1 << 24;  // above the number of any instruction

}  // namespace

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
