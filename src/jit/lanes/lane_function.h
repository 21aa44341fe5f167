// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "jit/lanes/bit_order.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

/// Operations on vectors of signed 32- or 64-bit lanes, on masks with a truth value per lane, and on pointers. With
/// VBMI2 some take 8-bit lanes too, those that bytes are split with. Those named after floats take a lane's bits as f32
/// or f64. Each is one instruction of AVX-512, mostly, and a few of AVX2; the host computes the same (evaluate_lanes),
/// so that what is built from them is tested without code.
enum class LaneOp : std::uint8_t {
  // Vectors.
  kConstant,          // `imm` in every lane
  kNumbers,           // 0, 1, 2, ...
  kBroadcast,         // the integer argument in every lane
  kLoad,              // of elements, extended to lanes; with a mask, other lanes are taken from `a` and touch no memory
  kAdd,               // wraps
  kMul,               // wraps
  kMin,               //
  kMax,               //
  kAnd,               //
  kOr,                //
  kXor,               //
  kAddFloat,          //
  kSubFloat,          //
  kMulFloat,          //
  kDivFloat,          //
  kMinFloat,          // a < b ? a : b, which is b if one is a NaN or both are zeros
  kMaxFloat,          // a > b ? a : b
  kFromHalf,          // the f32 of the f16 in the lower 16 bits; not for 64-bit lanes
  kToHalf,            // an f32 rounded to an f16, to nearest even, in the lower 16 bits; the others are 0
  kFromInt,           // the f32 nearest to an i32; not for 64-bit lanes, like the next one
  kToInt,             // an f32 cut to an i32; the lowest integer if there is no such i32
  kShiftLeft,         // by `imm` bits
  kShiftRight,        // by `imm` bits, filled with zeros
  kShiftRightSigned,  // by `imm` bits, filled with the sign
  kTurnNegative,      // inverts the bits of `imm` in lanes below 0
  kTurnNegativeInverted,  // and then all bits of every lane
  kXorLanes,              // lane i takes lane i ^ imm
  kMoveUp,                // lane i takes a[i - imm]; the lowest `imm` lanes take the highest of b
  kMoveDown,              // lane i takes a[i + imm]; the highest `imm` lanes take the lowest of b
  kSpread,                // lane `imm` of a in every lane
  kRegroupLow,            // the lower half of the lanes of a and b in the BitOrder `imm`
  kRegroupHigh,           // the upper half
  kExchange,              // min(a, b), and max(a, b) in the lanes whose bit `imm` has
  kSelect,                // a in the mask's lanes, else b
  kSelectBits,            // the bits of `imm` from a, the others from b; AVX-512 alone
  kCountBits,             // how many bits of the lane are ones; VPOPCNTDQ
  kCompress,              // the mask's lanes of a in order; the rest is unspecified
  kVariable,              // a register that kAssign changes; `a` at first
  kAssign,                // sets the variable `a` to `b`; no result
  // Masks.
  kLess,            // a < b
  kAtMost,          // a <= b
  kEqual,           // a == b
  kLessFloat,       // a < b; false if one is a NaN
  kNotAtMostFloat,  // a > b; true if one is a NaN
  kUnordered,       // whether one is a NaN
  kNot,             //
  kBoth,            //
  kEither,          //
  // Memory and arguments; no result.
  kStore,      // lanes of `a`, cut to elements; with a mask, other lanes touch no memory
  kStream,     // the same for whole lanes without a mask, past the caches; the address is aligned to a vector
  kStoreMask,  // the mask: a bit per lane, the first lane's lowest, in whole bytes; not for 8-bit lanes
  kAppend,     // the mask's count of lanes of `a`, from the first; the pointer advances by them. Writes a whole vector
  kAppendExact,        // the same, and writes no more than the count
  kPrefetch,           // the line at the pointer and offset, which need not be valid
  kPrefetchToWrite,    // likewise, for stores
  kAdvance,            // the pointer, by `imm` bytes
  kAdvanceBy,          // the pointer, by `imm` bytes times the first lane of `a`
  kAdvanceByArgument,  // the pointer, by `imm` times the integer argument `by`
  kLoadPointer,        // the argument, from memory at the pointer `by` and offset
  kStorePointer,       // the argument, to memory at the pointer `by` and offset
  kForEachWhole,  // repeats up to kEnd while the integer argument is at least `imm` vectors' lanes, and subtracts those
  kIfAny,         // up to kEnd if the integer argument is above 0
  kEnd,           //
  kReturn,        // the argument; last
  kReturnAny,     // 1 if a lane of `a` is not 0, else 0, plus the argument if there is one; last
  kReturnFirst,   // the first lane of `a`, with its sign extended; last
};

/// An element in memory.
struct LaneElement {
  std::uint8_t bytes = 4;  // at most a lane's
  bool is_signed = true;   // how a load extends it
  friend bool operator==(const LaneElement&, const LaneElement&) = default;
};

/// The number of a value, which is that of the instruction that made it.
using LaneValue = std::int32_t;
inline constexpr LaneValue kNoLaneValue = -1;

struct LaneInstruction {
  LaneOp op = LaneOp::kEnd;
  LaneValue a = kNoLaneValue, b = kNoLaneValue, mask = kNoLaneValue;
  std::int8_t argument = -1;
  std::int8_t by = -1;  // another argument
  LaneElement element = {};
  std::int32_t offset_bytes = 0;
  std::int64_t imm = 0;
  friend bool operator==(const LaneInstruction&, const LaneInstruction&) = default;
};

constexpr bool makes_mask(LaneOp op) { return op >= LaneOp::kLess && op <= LaneOp::kEither; }
constexpr bool makes_vector(LaneOp op) { return op < LaneOp::kAssign; }

/// Six are passed; the last is loaded.
inline constexpr std::size_t kMaxLaneArguments = 7;

/// A function of up to six pointers and integers: instructions in order, with loops that do not nest.
struct LaneFunction {
  int lane_bits = 32;  // or 64, or 8
  int num_lanes = 16;
  std::vector<LaneInstruction> instructions;
  std::string to_text() const;
};

/// Vectors have the level's width: 64 bytes for AVX-512, 32 for AVX2.
constexpr int num_lanes_of(IsaLevel isa, int lane_bits) { return (isa == IsaLevel::kAvx512 ? 512 : 256) / lane_bits; }
/// What kStoreMask writes.
constexpr int mask_bytes_of(int num_lanes) { return num_lanes < 8 ? 1 : num_lanes / 8; }

/// Builds a LaneFunction. Arguments are given by their position.
class LaneBuilder {
 public:
  LaneBuilder(IsaLevel isa, int lane_bits);

  IsaLevel isa() const { return isa_; }
  int lane_bits() const { return function_.lane_bits; }
  int num_lanes() const { return function_.num_lanes; }
  int mask_bytes() const { return mask_bytes_of(num_lanes()); }
  /// The element as wide as a lane.
  LaneElement lane_element() const { return {static_cast<std::uint8_t>(function_.lane_bits / 8), true}; }

  /// Equal constants are one value, made before everything else.
  LaneValue constant(std::int64_t value) { return hoisted({.op = LaneOp::kConstant, .imm = value}); }
  /// The greatest integer in every lane.
  LaneValue greatest() { return constant(std::numeric_limits<std::int64_t>::max() >> (64 - function_.lane_bits)); }
  LaneValue numbers() { return hoisted({.op = LaneOp::kNumbers}); }
  LaneValue broadcast(int argument) {
    return add({.op = LaneOp::kBroadcast, .argument = static_cast<std::int8_t>(argument)});
  }
  LaneValue load(int pointer, std::int32_t offset_bytes, LaneElement element);
  LaneValue load_masked(int pointer, std::int32_t offset_bytes, LaneElement element, LaneValue mask, LaneValue others);
  void store(int pointer, std::int32_t offset_bytes, LaneElement element, LaneValue value,
             LaneValue mask = kNoLaneValue);
  void store_mask(int pointer, std::int32_t offset_bytes, LaneValue mask) {
    add({.op = LaneOp::kStoreMask,
         .mask = mask,
         .argument = static_cast<std::int8_t>(pointer),
         .offset_bytes = offset_bytes});
  }
  /// What takes `a` and `b` alone.
  LaneValue binary(LaneOp op, LaneValue a, LaneValue b) { return add({.op = op, .a = a, .b = b}); }
  /// The shifts, the turns, kXorLanes, kSpread and what converts.
  LaneValue unary(LaneOp op, LaneValue a, std::int64_t imm = 0) { return add({.op = op, .a = a, .imm = imm}); }
  LaneValue exchange(LaneValue a, LaneValue b, std::uint64_t max_lanes) {
    return add({.op = LaneOp::kExchange, .a = a, .b = b, .imm = static_cast<std::int64_t>(max_lanes)});
  }
  LaneValue select(LaneValue mask, LaneValue a, LaneValue b) {
    return add({.op = LaneOp::kSelect, .a = a, .b = b, .mask = mask});
  }
  LaneValue select_bits(std::int64_t bits, LaneValue a, LaneValue b) {
    return add({.op = LaneOp::kSelectBits, .a = a, .b = b, .imm = bits});
  }
  /// kMoveUp or kMoveDown.
  LaneValue move(LaneOp op, LaneValue a, std::int64_t distance, LaneValue b) {
    return add({.op = op, .a = a, .b = b, .imm = distance});
  }
  /// Both halves of the lanes of two vectors in another order.
  std::pair<LaneValue, LaneValue> regroup(LaneValue a, LaneValue b, BitOrder order);
  LaneValue invert(LaneValue mask) { return add({.op = LaneOp::kNot, .a = mask}); }
  LaneValue variable(LaneValue initial) { return add({.op = LaneOp::kVariable, .a = initial}); }
  void assign(LaneValue variable, LaneValue value) { add({.op = LaneOp::kAssign, .a = variable, .b = value}); }
  /// Appends the mask's lanes of `value`. `exact` where memory behind them must stay.
  void append(int pointer, LaneValue value, LaneValue mask, bool exact);
  /// Fetches what loads at this offset read 8 KiB later, where a line begins there: hardware does not prefetch across
  /// pages, and memory takes longer than the rest of one. `walks_down` where pointers do.
  void prefetch_ahead(int pointer, std::int32_t offset_bytes, bool walks_down = false) {
    constexpr std::int32_t kLineBytes = 64, kAheadBytes = 8192;
    if (offset_bytes % kLineBytes != 0) return;
    const std::int32_t offset = offset_bytes + (walks_down ? -kAheadBytes : kAheadBytes);
    add({.op = LaneOp::kPrefetch, .argument = static_cast<std::int8_t>(pointer), .offset_bytes = offset});
  }
  /// Fetches the line there, which need not be valid.
  void prefetch(int pointer, std::int32_t offset_bytes) {
    add({.op = LaneOp::kPrefetch, .argument = static_cast<std::int8_t>(pointer), .offset_bytes = offset_bytes});
  }
  /// Fetches the line that appends will reach, which need not be valid. Stores wait in order, so that one which misses
  /// the L1 cache holds up others.
  void prefetch_to_append(int pointer) {
    constexpr std::int32_t kAheadBytes = 256;
    add({.op = LaneOp::kPrefetchToWrite, .argument = static_cast<std::int8_t>(pointer), .offset_bytes = kAheadBytes});
  }
  void advance(int pointer, std::int64_t bytes) {
    add({.op = LaneOp::kAdvance, .argument = static_cast<std::int8_t>(pointer), .imm = bytes});
  }
  void advance_by(int pointer, LaneValue value, std::int64_t bytes) {
    add({.op = LaneOp::kAdvanceBy, .a = value, .argument = static_cast<std::int8_t>(pointer), .imm = bytes});
  }
  void advance_by_argument(int pointer, int by, std::int64_t times) {
    add({.op = LaneOp::kAdvanceByArgument,
         .argument = static_cast<std::int8_t>(pointer),
         .by = static_cast<std::int8_t>(by),
         .imm = times});
  }
  void load_pointer(int argument, int pointer, std::int32_t offset_bytes) {
    move_pointer(LaneOp::kLoadPointer, argument, pointer, offset_bytes);
  }
  void store_pointer(int argument, int pointer, std::int32_t offset_bytes) {
    move_pointer(LaneOp::kStorePointer, argument, pointer, offset_bytes);
  }
  void stream(int pointer, std::int32_t offset_bytes, LaneValue value) {
    add({.op = LaneOp::kStream,
         .a = value,
         .argument = static_cast<std::int8_t>(pointer),
         .offset_bytes = offset_bytes});
  }
  /// Builds `body` for whole vectors and once more for a rest with the mask of its lanes. The argument `count` is the
  /// number of elements, and is used up.
  void for_vectors(int count, const std::function<void(LaneValue mask)>& body);

  /// The same for what `load` makes of each vector and `use` stores. Several are loaded before the first is stored: a
  /// load that follows stores which straddle lines, or which are as far into their page, waits for them.
  void for_loaded_vectors(int count, const std::function<LaneValue(LaneValue mask)>& load,
                          const std::function<void(LaneValue loaded, LaneValue mask)>& use);

  /// Builds `body` for blocks of whole vectors, without a rest.
  void for_blocks(int count, int vectors_per_block, const std::function<void()>& body);

  /// Builds `body` for when the argument `count` is above 0.
  void if_any(int count, const std::function<void()>& body);

  LaneFunction finish_with(int returned_argument);
  LaneFunction finish_with_any(LaneValue value);
  LaneFunction finish_with_sum_of_any(LaneValue value, int returned_argument);
  LaneFunction finish_with_first(LaneValue value);

 private:
  LaneValue add(const LaneInstruction& instruction) {
    function_.instructions.push_back(instruction);
    return static_cast<LaneValue>(function_.instructions.size() - 1);
  }
  void move_pointer(LaneOp op, int argument, int pointer, std::int32_t offset_bytes) {
    add({.op = op,
         .argument = static_cast<std::int8_t>(argument),
         .by = static_cast<std::int8_t>(pointer),
         .offset_bytes = offset_bytes});
  }
  /// Constants have numbers from kFirstHoisted on until finish() puts them first.
  LaneValue hoisted(const LaneInstruction& instruction);
  LaneFunction finish();

  IsaLevel isa_;
  LaneFunction function_;
  std::vector<LaneInstruction> hoisted_;
};

}  // namespace millrace
