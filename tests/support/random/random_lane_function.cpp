// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/random_lane_function.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace millrace::test {

RandomLaneFunction::RandomLaneFunction(IsaLevel isa, std::uint32_t seed, int lane_bits, bool counts_bits)
    : random_(seed), b_(isa, lane_bits), counts_bits_(counts_bits) {
  for (std::size_t op = 0; op < std::size(lane_table::kRows); ++op) {
    if (can_draw(static_cast<LaneOp>(op))) ops_.push_back(static_cast<LaneOp>(op));
  }
  for (int i = 0; i < kNumInputs; ++i) vectors_.push_back(b_.load(0, i * 64, random_element()));
  if (!has_bytes()) vectors_.push_back(b_.numbers());
  if (!has_bytes()) vectors_.push_back(b_.broadcast(2));
  masks_.push_back(b_.binary(LaneOp::kLess, vectors_[0], vectors_[1]));
  add_some();
  if (below(3) == 0) add_loop();
  finish();
}

LaneElement RandomLaneFunction::random_element() {
  if (has_bytes()) return b_.lane_element();
  const auto bytes = std::min(1u << below(4), static_cast<std::uint32_t>(b_.lane_bits() / 8));
  return {static_cast<std::uint8_t>(bytes), below(2) == 0};
}

/// Small integers are subnormal, and large ones any float; shifted ones have zeros and infinities too.
LaneValue RandomLaneFunction::any_float() {
  const LaneValue bits = any_vector();
  return below(2) == 0 ? bits : b_.unary(LaneOp::kShiftLeft, bits, b_.lane_bits() - 9);
}

/// AVX-512 has any; AVX2 those of has_code_in_256_bits().
BitOrder RandomLaneFunction::any_order() {
  const int n = b_.num_lanes(), num_bits = std::countr_zero(static_cast<unsigned>(n));
  if (n * b_.lane_bits() == 512) {
    std::vector<int> bits(static_cast<std::size_t>(num_bits) + 1);
    std::iota(bits.begin(), bits.end(), 0);
    std::ranges::shuffle(bits, random_);
    if (below(4) == 0) return BitOrder(bits);
  }
  std::vector<BitOrder> orders = {BitOrder::interleaved(n), BitOrder::exchanged(n, num_bits - 1),
                                  BitOrder::exchanged(n, num_bits - 2)};
  if (b_.lane_bits() == 32) orders.push_back(BitOrder::rotated_up(n, 0, 2));
  if (b_.lane_bits() == 32) orders.push_back(BitOrder::rotated_down(n, 0, 2));
  if (n * b_.lane_bits() == 512) orders.push_back(BitOrder::rotated_down(n, num_bits - 2, num_bits));
  return orders[below(static_cast<std::uint32_t>(orders.size()))];
}

std::int64_t RandomLaneFunction::any_immediate(std::uint32_t fields) {
  const auto n = static_cast<std::uint32_t>(b_.num_lanes());
  if ((fields & lane_table::kAnyImm) != 0)
    return below(4) == 0 ? -std::int64_t{below(3)} : static_cast<std::int32_t>(random_());
  if ((fields & lane_table::kBitImm) != 0) return below(static_cast<std::uint32_t>(b_.lane_bits()));
  if ((fields & lane_table::kLaneImm) != 0) return below(n);
  if ((fields & lane_table::kDistanceImm) != 0) return 1 + below(n - 1);
  if ((fields & lane_table::kLaneSetImm) != 0) return below(1u << n);
  if ((fields & lane_table::kOrderImm) != 0) return any_order().digits();
  return 0;
}

/// Ops that produce a fully specified value. The others are generated at specific places in the function.
bool RandomLaneFunction::can_draw(LaneOp op) const {
  if (info_of(op).result == LaneResult::kNone || op == LaneOp::kVariable || op == LaneOp::kCompress) return false;
  if (uses(op, lane_table::kPointer | lane_table::kInteger)) return op == LaneOp::kLoad;
  if (has_bytes() && !has_trait(op, lane_table::kBytes)) return false;
  if (has_trait(op, lane_table::kOnly32) && b_.lane_bits() != 32) return false;
  if (has_trait(op, lane_table::kOnlyAvx512) && b_.isa() != IsaLevel::kAvx512) return false;
  return !has_trait(op, lane_table::kNeedsVpopcnt) || counts_bits_;
}

void RandomLaneFunction::add(LaneOp op) {
  const auto operand = [&] { return has_trait(op, lane_table::kFloats) ? any_float() : any_vector(); };
  LaneInstruction i = {.op = op};
  if (uses(op, lane_table::kA | lane_table::kAIfMasked)) i.a = operand();
  if (uses(op, lane_table::kB)) i.b = operand();
  if (uses(op, lane_table::kMaskA)) i.a = any_mask();
  if (uses(op, lane_table::kMaskB)) i.b = b_.binary(LaneOp::kLess, any_vector(), any_vector());
  if (uses(op, lane_table::kMaskedBy | lane_table::kMaskOrNot)) i.mask = any_mask();
  if (uses(op, lane_table::kPointer)) i.argument = 0;
  if (uses(op, lane_table::kElement)) i.element = random_element();
  i.imm = any_immediate(info_of(op).fields);
  if (makes_mask(op)) {
    masks_.push_back(b_.add(i));
    return;
  }
  LaneValue result = op == LaneOp::kConstant ? b_.constant(i.imm) : op == LaneOp::kNumbers ? b_.numbers() : b_.add(i);
  if (has_trait(op, lane_table::kFloats) && op != LaneOp::kToHalf) {
    // Which of two NaNs a sum has is not said.
    masks_.push_back(b_.binary(LaneOp::kUnordered, result, result));
    result = b_.select(any_mask(), b_.constant(-5), result);
  }
  vectors_.push_back(result);
  // A maximum behind the minimum of the same vectors has code of its own.
  if (op == LaneOp::kMin && below(2) == 0) vectors_.push_back(b_.binary(LaneOp::kMax, i.a, i.b));
}

void RandomLaneFunction::add_some() {
  for (std::uint32_t left = 1 + below(60); left > 0; --left) {
    add(ops_[below(static_cast<std::uint32_t>(ops_.size()))]);
    if (below(16) == 0) change_integer();
  }
}

/// Argument 2, which is an integer to the code even where the op is meant for pointers.
void RandomLaneFunction::change_integer() {
  const auto imm = static_cast<std::int64_t>(below(2001)) - 1000;
  switch (below(has_bytes() ? 3 : 4)) {
    case 0:
      return b_.load_pointer(2, 0, static_cast<std::int32_t>(8 * below(kNumInputs * 64 / 8)));
    case 1:
      return b_.advance(2, imm);
    case 2:
      return b_.advance_by_argument(2, 3, imm);
    default:
      return b_.advance_by(2, any_vector(), imm);
  }
}

/// Values that are made in a loop are lost behind it, except for a variable.
void RandomLaneFunction::add_loop() {
  num_iterations_ = below(kMaxIterations + 1);
  const LaneValue variable = has_bytes() ? any_vector() : b_.variable(any_vector());
  const std::size_t num_vectors = vectors_.size(), num_masks = masks_.size();
  b_.for_blocks(3, 1, [&] {
    vectors_.push_back(b_.load(0, kNumInputs * 64, b_.lane_element()));
    vectors_.push_back(variable);
    add_some();
    // What is unspecified behind the last append is not compared.
    if (below(2) == 0) b_.append(4, any_vector(), has_bytes() ? all_lanes() : any_mask(), !has_bytes());
    if (!has_bytes()) b_.assign(variable, any_vector());
    if (below(2) == 0) b_.advance(0, b_.num_lanes() * b_.lane_bits() / 8);
  });
  vectors_.resize(num_vectors);
  masks_.resize(num_masks);
  vectors_.push_back(variable);
}

/// Each append writes over what is unspecified behind the one before.
void RandomLaneFunction::append_bytes() {
  for (const LaneValue vector : vectors_) {
    const bool is_last = vector == vectors_.back();
    b_.append(1, vector, is_last || below(4) == 0 ? all_lanes() : any_mask(), false);
    output_bytes_ += 64;
  }
  function_ = b_.finish_with(2);
}

void RandomLaneFunction::finish() {
  if (has_bytes()) return append_bytes();
  std::int32_t offset = 0;
  const std::uint32_t one_of = below(2) == 0 ? 1 : 5;
  for (const LaneValue vector : vectors_) {
    if (vector != vectors_.back() && below(one_of) != 0) continue;
    if (below(8) == 0) {
      b_.stream(1, offset, vector);
    } else {
      b_.store(1, offset, random_element(), vector, below(4) == 0 ? any_mask() : kNoLaneValue);
    }
    offset += 64;
  }
  for (const std::int32_t last = offset + 64; offset < last; offset += b_.mask_bytes()) {
    if (below(4) == 0) b_.store_mask(1, offset, any_mask());
  }
  if (below(2) == 0) b_.store_pointer(2, 1, offset - 64);
  output_bytes_ = static_cast<std::size_t>((offset + 63) / 64 * 64);
  switch (below(4)) {
    case 0:
      function_ = b_.finish_with_any(any_vector());
      return;
    case 1:
      function_ = b_.finish_with_any(any_vector(), 2);
      return;
    case 2:
      function_ = b_.finish_with_first(any_vector());
      return;
    default:
      function_ = b_.finish_with(2);
  }
}

}  // namespace millrace::test
