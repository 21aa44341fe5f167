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

/// Operations on vectors of signed 32- or 64-bit lanes, on masks with a truth value per lane, and on pointers.
/// Operations for splitting bytes also work on 8-bit lanes; on those they need VBMI2. Operations with Float in their
/// name read a lane's bits as f32 or f64. Most operations are one instruction on AVX-512 and a few on AVX2. The tests
/// evaluate lane functions (evaluate_lanes), so that microkernels are tested without machine code.
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
  kAIfMasked = 1 << 6,     // the vector `a`, only if there is a mask
  kPointer = 1 << 7,       // the pointer `argument` and `offset_bytes`
  kInteger = 1 << 8,       // `argument`
  kIntegerOrNot = 1 << 9,  // `argument`, which may be absent
  kBy = 1 << 10,           // the integer `by`
  kAtPointer = 1 << 11,    // the pointer `by` and `offset_bytes`
  kElement = 1 << 12,
  // The meaning of `imm`. For ops without one of these, `imm` is 0.
  kAnyImm = 1 << 13,
  kBitImm = 1 << 14,       // the position of a bit in a lane
  kLaneImm = 1 << 15,      // the index of a lane
  kDistanceImm = 1 << 16,  // a number of lanes, not 0
  kLaneSetImm = 1 << 17,   // a bit per lane
  kOrderImm = 1 << 18,     // a BitOrder
  kCountImm = 1 << 19,     // at least 1
  kStepImm = 1 << 20,      // fits in 32 bits
};
inline constexpr std::uint32_t kAnyKindOfImm =
    kAnyImm | kBitImm | kLaneImm | kDistanceImm | kLaneSetImm | kOrderImm | kCountImm | kStepImm;

enum LaneTraits : std::uint32_t {
  kNoTraits = 0,
  kBytes = 1 << 0,         // also works on lanes of 8 bits
  kOnly32 = 1 << 1,        // works only on lanes of 32 bits
  kFloats = 1 << 2,        // operands are floats
  kOnlyAvx512 = 1 << 3,    // vectors have 512 bits
  kNeedsVpopcnt = 1 << 4,  // the target has VPOPCNTDQ
  kWritesEarly = 1 << 5,   // the emitted code writes the result before it has read all operands
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
  std::uint8_t bytes = 4;  // at most the width of a lane
  bool is_signed = true;   // whether a load sign-extends it; else zero-extends
  friend bool operator==(const LaneElement&, const LaneElement&) = default;
};

/// A value, given by the index of the instruction that makes it.
using LaneValue = std::int32_t;
inline constexpr LaneValue kNoLaneValue = -1;

struct LaneInstruction {
  LaneOp op = LaneOp::kEnd;
  LaneValue a = kNoLaneValue, b = kNoLaneValue, mask = kNoLaneValue;
  int argument = -1;
  int by = -1;  // a second argument
  LaneElement element = {};
  std::int32_t offset_bytes = 0;
  std::int64_t imm = 0;
  friend bool operator==(const LaneInstruction&, const LaneInstruction&) = default;
};

/// The maximum number of arguments. Six are passed in registers; the function loads the last one from the stack.
inline constexpr std::size_t kMaxLaneArguments = 7;

/// A function of up to kMaxLaneArguments pointers and integers: instructions in order, with blocks that do not nest.
struct LaneFunction {
  int lane_bits = 32;  // 8, 32 or 64
  int num_lanes = 16;
  std::vector<LaneInstruction> instructions;
  friend bool operator==(const LaneFunction&, const LaneFunction&) = default;
};

/// "%4 = load arg0+64 i32": one line for each instruction, with the fields that its op uses.
std::string to_text(const LaneFunction&);
/// Reads the text that to_text() writes. Errors refer to the text as `name`. Does not verify the function.
Result<LaneFunction> parse_lane_function(std::string_view text, std::string_view name);
/// Checks that each instruction has the fields of its op, in their ranges; that values are defined before they are
/// read, and not in a block that has ended; that blocks do not nest; that only the last instruction returns; that live
/// masks fit AVX-512's registers, and that AVX2 code exists for each BitOrder. The error has a line per problem:
///     %7 = less: b is a mask, expected a vector
Status verify(const LaneFunction&);

/// Vectors have the level's width: 64 bytes for AVX-512, 32 for AVX2.
constexpr int num_lanes_of(IsaLevel isa, int lane_bits) { return (isa == IsaLevel::kAvx512 ? 512 : 256) / lane_bits; }
/// The bytes that kStoreMask writes.
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
  /// The size in memory of num_lanes() elements.
  std::int32_t vector_bytes(LaneElement element) const { return num_lanes() * element.bytes; }
  std::int32_t vector_bytes() const { return vector_bytes(lane_element()); }

  /// Appends any instruction. Returns its index, by which later instructions refer to its result.
  LaneValue add(const LaneInstruction& instruction) {
    function_.instructions.push_back(instruction);
    return static_cast<LaneValue>(function_.instructions.size() - 1);
  }
  /// Equal constants share one instruction, which finish() moves to the start of the function.
  LaneValue constant(std::int64_t value) { return hoisted({.op = LaneOp::kConstant, .imm = value}); }
  /// The greatest integer in every lane.
  LaneValue greatest() { return constant(std::numeric_limits<std::int64_t>::max() >> (64 - function_.lane_bits)); }
  LaneValue numbers() { return hoisted({.op = LaneOp::kNumbers}); }
  LaneValue broadcast(int argument) { return add({.op = LaneOp::kBroadcast, .argument = argument}); }
  /// Lanes outside the mask are taken from `others`. Without a mask, `others` is unused.
  LaneValue load_masked(int pointer, std::int32_t offset_bytes, LaneElement, LaneValue mask, LaneValue others);
  LaneValue load(int pointer, std::int32_t offset_bytes, LaneElement element) {
    return load_masked(pointer, offset_bytes, element, kNoLaneValue, kNoLaneValue);
  }
  LaneValue load(int pointer, std::int32_t offset_bytes) { return load(pointer, offset_bytes, lane_element()); }
  /// Loads a vector; with a mask, lanes outside it become 0.
  LaneValue load_some(int pointer, LaneElement element, LaneValue mask) {
    return mask == kNoLaneValue ? load(pointer, 0, element) : load_masked(pointer, 0, element, mask, constant(0));
  }
  /// Like load_some, and advances the pointer.
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
  /// Appends an op whose only operands are `a` and `b`.
  LaneValue binary(LaneOp op, LaneValue a, LaneValue b) { return add({.op = op, .a = a, .b = b}); }
  /// Appends an op whose only operand is `a`; the op may have an immediate.
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
  /// Reorders the lanes of two vectors; returns two vectors.
  std::pair<LaneValue, LaneValue> regroup(LaneValue a, LaneValue b, BitOrder order);
  /// The lanes of the mask `a` that are also in `mask`; `a` itself if there is no mask.
  LaneValue within(LaneValue a, LaneValue mask) { return mask == kNoLaneValue ? a : binary(LaneOp::kBoth, a, mask); }
  LaneValue invert(LaneValue mask) { return add({.op = LaneOp::kNot, .a = mask}); }
  LaneValue variable(LaneValue initial) { return add({.op = LaneOp::kVariable, .a = initial}); }
  void assign(LaneValue variable, LaneValue value) { add({.op = LaneOp::kAssign, .a = variable, .b = value}); }
  /// Appends the lanes of `value` that are in the mask. If `exact`, leaves the memory after them unchanged; otherwise
  /// writes a whole vector.
  void append(int pointer, LaneValue value, LaneValue mask, bool exact);
  /// Prefetches the line 8 KiB ahead of this offset, if the offset begins a line: hardware does not prefetch across
  /// pages, and fetching from memory takes longer than processing the rest of a page. `walks_down`: the pointer moves
  /// towards lower addresses.
  void prefetch_ahead(int pointer, std::int32_t offset_bytes, bool walks_down = false) {
    constexpr std::int32_t kLineBytes = 64, kAheadBytes = 8192;
    if (offset_bytes % kLineBytes != 0) return;
    prefetch(pointer, offset_bytes + (walks_down ? -kAheadBytes : kAheadBytes));
  }
  /// Prefetches the line at this address, which need not be valid.
  void prefetch(int pointer, std::int32_t offset_bytes) {
    add({.op = LaneOp::kPrefetch, .argument = pointer, .offset_bytes = offset_bytes});
  }
  /// Prefetches a line that later appends will reach. Its address need not be valid. Stores complete in order, so a
  /// store that misses the L1 cache delays all later stores.
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
  /// Builds `body` twice: in a loop over whole vectors, and for the remaining elements, with the mask of their lanes.
  /// The argument `count` is the number of elements; the loop changes it.
  void for_vectors(int count, const std::function<void(LaneValue mask)>& body);

  /// Like for_vectors, with `load` and `use` in place of `body`. Several vectors are loaded before the first is stored,
  /// because a load waits for earlier stores that straddle cache lines or have the same offset in their page.
  void for_loaded_vectors(int count, const std::function<LaneValue(LaneValue mask)>& load,
                          const std::function<void(LaneValue loaded, LaneValue mask)>& use);

  /// Builds a loop over blocks of whole vectors. After it, `count` is the number of elements after the last whole
  /// block.
  void for_blocks(int count, int vectors_per_block, const std::function<void()>& body) {
    add({.op = LaneOp::kForEachWhole, .argument = count, .imm = vectors_per_block});
    body();
    add({.op = LaneOp::kEnd});
  }

  /// Builds `body`, which is executed only if the argument `count` is above 0.
  void if_any(int count, const std::function<void()>& body) {
    add({.op = LaneOp::kIfAny, .argument = count});
    body();
    add({.op = LaneOp::kEnd});
  }

  // End the function. finish_with() returns an argument. finish_with_any() returns 1 if any lane is not 0, otherwise 0;
  // if an argument is given, it is added to this. finish_with_first() returns a vector's first lane.
  LaneFunction finish_with(int argument) { return finish({.op = LaneOp::kReturn, .argument = argument}); }
  LaneFunction finish_with_any(LaneValue value, int argument = -1) {
    return finish({.op = LaneOp::kReturnAny, .a = value, .argument = argument});
  }
  LaneFunction finish_with_first(LaneValue value) { return finish({.op = LaneOp::kReturnFirst, .a = value}); }

 private:
  /// Hoisted values have indices from kFirstHoisted up until finish() moves them to the front.
  LaneValue hoisted(const LaneInstruction& instruction);
  LaneFunction finish(const LaneInstruction& last);

  IsaLevel isa_;
  LaneFunction function_;
  std::vector<LaneInstruction> hoisted_;
};

}  // namespace millrace
