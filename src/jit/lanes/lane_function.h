// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/lanes/bit_order.h"
#include "millrace/base/status.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

/// Operations on vectors of signed 32- or 64-bit lanes, on masks with a truth value per lane, and on pointers. With
/// VBMI2 some take 8-bit lanes too, those that bytes are split with. Those named after floats take a lane's bits as f32
/// or f64. Each is one instruction of AVX-512, mostly, and a few of AVX2; the tests compute the same (evaluate_lanes),
/// so that what is built from them is tested without code.
enum class LaneOp : std::uint8_t {
#define MILLRACE_LANE_OP(name, text, result, fields, traits, meaning) name,
#include "jit/lanes/lane_ops.inc"
};

enum class LaneResult : std::uint8_t { kNone, kVector, kMask };

namespace lane_table {  // the words of lane_ops.inc

/// The fields of a LaneInstruction that an op uses.
enum LaneFields : std::uint32_t {
  kNoFields = 0,
  kA = 1 << 0,             // the vector `a`
  kB = 1 << 1,             // the vector `b`
  kMaskA = 1 << 2,         // the mask `a`
  kMaskB = 1 << 3,         // the mask `b`
  kMaskedBy = 1 << 4,      // `mask`
  kMaskOrNot = 1 << 5,     // `mask`, which may be absent
  kAIfMasked = 1 << 6,     // the vector `a`, where there is a mask
  kPointer = 1 << 7,       // the pointer `argument` and `offset_bytes`
  kInteger = 1 << 8,       // `argument`
  kIntegerOrNot = 1 << 9,  // `argument`, which may be absent
  kBy = 1 << 10,           // the integer `by`
  kAtPointer = 1 << 11,    // the pointer `by` and `offset_bytes`
  kElement = 1 << 12,
  // What `imm` is; it is 0 where none of these stands.
  kAnyImm = 1 << 13,
  kBitImm = 1 << 14,       // the number of a lane's bit
  kLaneImm = 1 << 15,      // the number of a lane
  kDistanceImm = 1 << 16,  // the same, but not 0
  kLaneSetImm = 1 << 17,   // a bit per lane
  kOrderImm = 1 << 18,     // a BitOrder
  kCountImm = 1 << 19,     // at least 1
  kStepImm = 1 << 20,      // of 32 bits
};
inline constexpr std::uint32_t kAnyKindOfImm =
    kAnyImm | kBitImm | kLaneImm | kDistanceImm | kLaneSetImm | kOrderImm | kCountImm | kStepImm;

enum LaneTraits : std::uint32_t {
  kNoTraits = 0,
  kBytes = 1 << 0,         // also takes lanes of 8 bits
  kOnly32 = 1 << 1,        // takes no lanes but those of 32 bits
  kFloats = 1 << 2,        // operands are floats
  kOnlyAvx512 = 1 << 3,    // vectors have 512 bits
  kNeedsVpopcnt = 1 << 4,  // and the target has VPOPCNTDQ
  kWritesEarly = 1 << 5,   // code writes the result before it has read all operands
};

}  // namespace lane_table

/// A row of lane_ops.inc.
struct LaneOpInfo {
  std::string_view text;
  LaneResult result;
  std::uint32_t fields;  // lane_table::LaneFields
  std::uint32_t traits;  // lane_table::LaneTraits
  std::string_view meaning;
};

namespace lane_table {
inline constexpr LaneOpInfo kRows[] = {
#define MILLRACE_LANE_OP(name, text, result, fields, traits, meaning) \
  {text, LaneResult::result, fields, traits, meaning},
#include "jit/lanes/lane_ops.inc"
};
}  // namespace lane_table

constexpr const LaneOpInfo& info_of(LaneOp op) { return lane_table::kRows[static_cast<std::size_t>(op)]; }
constexpr bool makes_mask(LaneOp op) { return info_of(op).result == LaneResult::kMask; }
constexpr bool makes_vector(LaneOp op) { return info_of(op).result == LaneResult::kVector; }
constexpr bool uses(LaneOp op, std::uint32_t fields) { return (info_of(op).fields & fields) != 0; }
constexpr bool has_trait(LaneOp op, lane_table::LaneTraits trait) { return (info_of(op).traits & trait) != 0; }

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
  int argument = -1;
  int by = -1;  // another argument
  LaneElement element = {};
  std::int32_t offset_bytes = 0;
  std::int64_t imm = 0;
  friend bool operator==(const LaneInstruction&, const LaneInstruction&) = default;
};

/// Six are passed; the last is loaded.
inline constexpr std::size_t kMaxLaneArguments = 7;

/// A function of up to kMaxLaneArguments pointers and integers: instructions in order, with loops that do not nest.
struct LaneFunction {
  int lane_bits = 32;  // or 64, or 8
  int num_lanes = 16;
  std::vector<LaneInstruction> instructions;
  friend bool operator==(const LaneFunction&, const LaneFunction&) = default;
};

/// "%4 = load arg0+64 i32": one line for each instruction, with the fields that its op uses.
std::string to_text(const LaneFunction&);
/// Reads what to_text wrote. `name` stands for the text in errors. Does not verify.
Result<LaneFunction> parse_lane_function(std::string_view text, std::string_view name);
/// Whether each instruction has the fields of its op, in their ranges; values are made before they are read, and not in
/// a block that was left; blocks do not nest; and the last instruction, and no other, returns. The error has a line for
/// each problem: "%7 = less: b is a mask, takes a vector". AVX-512 has registers for a few masks at once, and AVX2 has
/// code for a few orders of lanes.
Status verify(const LaneFunction&);

/// Vectors have the level's width: 64 bytes for AVX-512, 32 for AVX2.
constexpr int num_lanes_of(IsaLevel isa, int lane_bits) { return (isa == IsaLevel::kAvx512 ? 512 : 256) / lane_bits; }
/// What kStoreMask writes.
constexpr int mask_bytes_of(int num_lanes) { return num_lanes < 8 ? 1 : num_lanes / 8; }

/// Builds a LaneFunction. Arguments are given by their position.
class LaneBuilder {
 public:
  LaneBuilder(IsaLevel isa, int lane_bits) : isa_(isa), function_{lane_bits, num_lanes_of(isa, lane_bits), {}} {}

  IsaLevel isa() const { return isa_; }
  int lane_bits() const { return function_.lane_bits; }
  int num_lanes() const { return function_.num_lanes; }
  int mask_bytes() const { return mask_bytes_of(num_lanes()); }
  /// The element as wide as a lane.
  LaneElement lane_element() const { return {static_cast<std::uint8_t>(function_.lane_bits / 8), true}; }
  /// The bytes in memory of as many elements as there are lanes.
  std::int32_t vector_bytes(LaneElement element) const { return num_lanes() * element.bytes; }
  std::int32_t vector_bytes() const { return vector_bytes(lane_element()); }

  /// Any instruction. Returns its number, which is that of its result.
  LaneValue add(const LaneInstruction& instruction) {
    function_.instructions.push_back(instruction);
    return static_cast<LaneValue>(function_.instructions.size() - 1);
  }
  /// Equal constants are one value, made before everything else.
  LaneValue constant(std::int64_t value) { return hoisted({.op = LaneOp::kConstant, .imm = value}); }
  /// The greatest integer in every lane.
  LaneValue greatest() { return constant(std::numeric_limits<std::int64_t>::max() >> (64 - function_.lane_bits)); }
  LaneValue numbers() { return hoisted({.op = LaneOp::kNumbers}); }
  LaneValue broadcast(int argument) { return add({.op = LaneOp::kBroadcast, .argument = argument}); }
  /// `others` are the lanes that the mask does not have; without a mask they do not matter.
  LaneValue load_masked(int pointer, std::int32_t offset_bytes, LaneElement, LaneValue mask, LaneValue others);
  LaneValue load(int pointer, std::int32_t offset_bytes, LaneElement element) {
    return load_masked(pointer, offset_bytes, element, kNoLaneValue, kNoLaneValue);
  }
  LaneValue load(int pointer, std::int32_t offset_bytes) { return load(pointer, offset_bytes, lane_element()); }
  /// Loads a vector, or the mask's lanes of it and 0 in the others.
  LaneValue load_some(int pointer, LaneElement element, LaneValue mask) {
    return mask == kNoLaneValue ? load(pointer, 0, element) : load_masked(pointer, 0, element, mask, constant(0));
  }
  /// The same, and advances the pointer.
  LaneValue load_next(int pointer, LaneElement element, LaneValue mask) {
    const LaneValue loaded = load_some(pointer, element, mask);
    advance(pointer, vector_bytes(element));
    return loaded;
  }
  void store(int pointer, std::int32_t offset_bytes, LaneElement, LaneValue value, LaneValue mask = kNoLaneValue);
  void store(int pointer, std::int32_t offset_bytes, LaneValue value, LaneValue mask = kNoLaneValue) {
    store(pointer, offset_bytes, lane_element(), value, mask);
  }
  void store_mask(int pointer, std::int32_t offset_bytes, LaneValue mask) {
    add({.op = LaneOp::kStoreMask, .mask = mask, .argument = pointer, .offset_bytes = offset_bytes});
  }
  /// What takes `a` and `b` alone.
  LaneValue binary(LaneOp op, LaneValue a, LaneValue b) { return add({.op = op, .a = a, .b = b}); }
  /// What takes `a`, and perhaps an immediate.
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
  /// The lanes of `a` that the mask has, if there is one.
  LaneValue within(LaneValue a, LaneValue mask) { return mask == kNoLaneValue ? a : binary(LaneOp::kBoth, a, mask); }
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
    prefetch(pointer, offset_bytes + (walks_down ? -kAheadBytes : kAheadBytes));
  }
  /// Fetches the line there, which need not be valid.
  void prefetch(int pointer, std::int32_t offset_bytes) {
    add({.op = LaneOp::kPrefetch, .argument = pointer, .offset_bytes = offset_bytes});
  }
  /// Fetches the line that appends will reach, which need not be valid. Stores wait in order, so that one which misses
  /// the L1 cache holds up others.
  void prefetch_to_append(int pointer) {
    constexpr std::int32_t kAheadBytes = 256;
    add({.op = LaneOp::kPrefetchToWrite, .argument = pointer, .offset_bytes = kAheadBytes});
  }
  void advance(int pointer, std::int64_t bytes) { add({.op = LaneOp::kAdvance, .argument = pointer, .imm = bytes}); }
  void advance_by(int pointer, LaneValue value, std::int64_t bytes) {
    add({.op = LaneOp::kAdvanceBy, .a = value, .argument = pointer, .imm = bytes});
  }
  void advance_by_argument(int pointer, int by, std::int64_t times) {
    add({.op = LaneOp::kAdvanceByArgument, .argument = pointer, .by = by, .imm = times});
  }
  void load_pointer(int argument, int pointer, std::int32_t offset_bytes) {
    add({.op = LaneOp::kLoadPointer, .argument = argument, .by = pointer, .offset_bytes = offset_bytes});
  }
  void store_pointer(int argument, int pointer, std::int32_t offset_bytes) {
    add({.op = LaneOp::kStorePointer, .argument = argument, .by = pointer, .offset_bytes = offset_bytes});
  }
  void stream(int pointer, std::int32_t offset_bytes, LaneValue value) {
    add({.op = LaneOp::kStream, .a = value, .argument = pointer, .offset_bytes = offset_bytes});
  }
  /// Builds `body` for whole vectors and once more for a rest with the mask of its lanes. The argument `count` is the
  /// number of elements, and is used up.
  void for_vectors(int count, const std::function<void(LaneValue mask)>& body);

  /// The same for what `load` makes of each vector and `use` stores. Several are loaded before the first is stored: a
  /// load that follows stores which straddle lines, or which are as far into their page, waits for them.
  void for_loaded_vectors(int count, const std::function<LaneValue(LaneValue mask)>& load,
                          const std::function<void(LaneValue loaded, LaneValue mask)>& use);

  /// Builds `body` for blocks of whole vectors, without a rest.
  void for_blocks(int count, int vectors_per_block, const std::function<void()>& body) {
    add({.op = LaneOp::kForEachWhole, .argument = count, .imm = vectors_per_block});
    body();
    add({.op = LaneOp::kEnd});
  }

  /// Builds `body` for when the argument `count` is above 0.
  void if_any(int count, const std::function<void()>& body) {
    add({.op = LaneOp::kIfAny, .argument = count});
    body();
    add({.op = LaneOp::kEnd});
  }

  // The function, which returns an argument; or whether a lane is not 0, added to an argument if there is one; or a
  // vector's first lane.
  LaneFunction finish_with(int argument) { return finish({.op = LaneOp::kReturn, .argument = argument}); }
  LaneFunction finish_with_any(LaneValue value, int argument = -1) {
    return finish({.op = LaneOp::kReturnAny, .a = value, .argument = argument});
  }
  LaneFunction finish_with_first(LaneValue value) { return finish({.op = LaneOp::kReturnFirst, .a = value}); }

 private:
  /// Constants have numbers from kFirstHoisted on until finish() puts them first.
  LaneValue hoisted(const LaneInstruction& instruction);
  LaneFunction finish(const LaneInstruction& last);

  IsaLevel isa_;
  LaneFunction function_;
  std::vector<LaneInstruction> hoisted_;
};

}  // namespace millrace
