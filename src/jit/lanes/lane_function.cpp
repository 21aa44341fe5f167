// SPDX-License-Identifier: Apache-2.0
// The properties of lane instructions, and the builder that appends them.
#include "jit/lanes/lane_function.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr LaneValue kFirstHoisted = 1 << 24;  // above the index of any instruction

}  // namespace

LaneValue LaneBuilder::hoisted(const LaneInstruction& instruction) {
  const auto found = std::ranges::find(hoisted_, instruction);
  const auto index = static_cast<LaneValue>(found - hoisted_.begin());
  if (found == hoisted_.end()) hoisted_.push_back(instruction);
  return kFirstHoisted + index;
}

LaneFunction LaneBuilder::finish(const LaneInstruction& last) {
  add(last);
  const auto num_hoisted = static_cast<LaneValue>(hoisted_.size());
  for (LaneInstruction& instruction : function_.instructions) {
    for (LaneValue* value : {&instruction.a, &instruction.b, &instruction.mask}) {
      if (*value != kNoLaneValue) *value += *value >= kFirstHoisted ? -kFirstHoisted : num_hoisted;
    }
  }
  function_.instructions.insert(function_.instructions.begin(), hoisted_.begin(), hoisted_.end());
  return std::move(function_);
}

LaneValue LaneBuilder::load_masked(int pointer, std::int32_t offset_bytes, LaneElement element, LaneValue mask,
                                   LaneValue others) {
  return add({.op = LaneOp::kLoad,
              .a = mask == kNoLaneValue ? kNoLaneValue : others,
              .mask = mask,
              .argument = pointer,
              .element = element,
              .offset_bytes = offset_bytes});
}

void LaneBuilder::store(int pointer, std::int32_t offset_bytes, LaneElement element, LaneValue value, LaneValue mask) {
  add({.op = LaneOp::kStore,
       .a = value,
       .mask = mask,
       .argument = pointer,
       .element = element,
       .offset_bytes = offset_bytes});
}

void LaneBuilder::append(int pointer, LaneValue value, LaneValue mask, bool exact) {
  const LaneValue compressed = add({.op = LaneOp::kCompress, .a = value, .mask = mask});
  add({.op = exact ? LaneOp::kAppendExact : LaneOp::kAppend, .a = compressed, .mask = mask, .argument = pointer});
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
  const int max_loaded = isa_ == IsaLevel::kAvx512 ? 8 : 4;  // leaves registers for the values that `use` computes
  for_blocks(count, max_loaded, [&] {
    std::vector<LaneValue> loaded;
    while (std::ssize(loaded) < max_loaded) loaded.push_back(load(kNoLaneValue));
    for (const LaneValue value : loaded) use(value, kNoLaneValue);
  });
  for_vectors(count, [&](LaneValue mask) { use(load(mask), mask); });
}

}  // namespace millrace
