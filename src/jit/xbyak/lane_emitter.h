// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <type_traits>

#include "jit/lanes/linear_scan.h"
#include "jit/xbyak/lane_assembler.h"

namespace millrace {

/// Emits a lane function: arguments, loops and pointers, which are the same for AVX2 and AVX-512. A derived class adds
/// the operations on vectors. rax and r10 are free between instructions.
class LaneEmitter {
 public:
  LaneEmitter(const LaneEmitter&) = delete;
  LaneEmitter& operator=(const LaneEmitter&) = delete;

  void run();

 protected:
  LaneEmitter(LaneAssembler& as, const LaneFunction& f) : as_(as), f_(f), is_wide_(f.lane_bits == 64) {}
  ~LaneEmitter() = default;

  virtual std::uint32_t frame_bytes() const = 0;
  virtual void emit(const LaneInstruction&) = 0;

  /// Emits an instruction that does not read a vector.
  void emit_control(const LaneInstruction&);
  /// Emits an op on `a`, or on `a` and `b`, for which AVX2 and AVX-512 have the same single instruction. Returns false
  /// for other ops.
  bool emit_plain(LaneOp, const Xbyak::Xmm& to, const Xbyak::Xmm& a, const Xbyak::Operand& b);
  /// Emits kShiftLeft or kShiftRight.
  void emit_shift(LaneOp, const Xbyak::Xmm& to, const Xbyak::Xmm& a, std::int64_t bits);
  /// Loads elements that are narrower than lanes.
  void emit_extended_load(const Xbyak::Xmm& to, const LaneInstruction&);
  /// The immediate of a shuffle of four units whose result i is unit i ^ distance.
  static std::uint8_t exchange_of_four(int distance) {
    return static_cast<std::uint8_t>(distance + 4 * (1 ^ distance) + 16 * (2 ^ distance) + 64 * (3 ^ distance));
  }
  /// Emits kRegroupLow or kRegroupHigh for orders that move lanes only within 128 bits. Returns false for others.
  bool emit_regroup_in_blocks(const Xbyak::Xmm& to, const Xbyak::Xmm& a, const Xbyak::Operand& b, BitOrder order,
                              bool is_high);
  /// Immediates of shuffles that take two of the four units of each operand.
  static constexpr std::uint8_t kEvenUnits = 0x88, kOddUnits = 0xdd, kLowerUnits = 0x44, kUpperUnits = 0xee;
  /// The predicate of vcmpps for kLessFloat, kNotAtMostFloat and kUnordered. The predicates are quiet: a NaN raises no
  /// exception.
  static std::uint8_t predicate_of(LaneOp);
  /// Adds the argument of kReturnAny, if the instruction has one, to rax.
  void emit_added_argument(const LaneInstruction& i) {
    if (i.argument >= 0) as_.add(as_.rax, argument(i));
  }
  /// Emits kAdvanceBy and kReturnFirst.
  void emit_first_lane(const LaneInstruction&, const Xbyak::Xmm& a);

  Xbyak::Reg64 argument(int number) const;
  Xbyak::Reg64 argument(const LaneInstruction& i) const { return argument(i.argument); }
  Xbyak::Address memory(const LaneInstruction& i) const { return as_.ptr[argument(i) + i.offset_bytes]; }
  int lane_bytes() const { return f_.lane_bits / 8; }

  /// A table with one word per lane.
  template <class Word>
  Xbyak::Address table_of(Word word) {
    LaneAssembler::Table table(static_cast<std::size_t>(f_.num_lanes * f_.lane_bits / 64));
    for (int lane = 0; lane < f_.num_lanes; ++lane) {
      const int per_word = 64 / f_.lane_bits;
      const auto bits = static_cast<std::uint64_t>(word(lane)) & ~std::uint64_t{0} >> (64 - f_.lane_bits);
      table[static_cast<std::size_t>(lane / per_word)] |= bits << (lane % per_word * f_.lane_bits);
    }
    return as_.table(table);
  }
  /// A table with the value in every lane.
  Xbyak::Address table_of_all(std::int64_t value) {
    return table_of([&](int) { return value; });
  }

  LaneAssembler& as_;
  const LaneFunction& f_;
  const bool is_wide_;
  LaneValue at_ = 0;

 private:
  void emit_end();
  /// The number of elements per iteration.
  std::uint32_t step_of(const LaneInstruction& loop) const {
    return static_cast<std::uint32_t>(loop.imm * f_.num_lanes);
  }

  std::optional<Xbyak::Label> loop_, block_end_;
  LaneInstruction looping_ = {};
};

/// Adds the code that Ymm and Zmm share: registers, and slots for spilled values.
template <class Vector>
class VectorEmitter : public LaneEmitter {
 protected:
  static constexpr int kVectorBytes = std::is_same_v<Vector, Xbyak::Zmm> ? 64 : 32;

  /// An instruction whose result is spilled writes it to `spilled_result`; keep() then stores it.
  VectorEmitter(LaneAssembler& as, const LaneFunction& f, LaneLocations locations, const Vector& spilled_result)
      : LaneEmitter(as, f), locations_(std::move(locations)), spilled_result_(spilled_result) {}
  ~VectorEmitter() = default;

  Xbyak::Address slot(int number) const { return as_.ptr[as_.rsp + number * kVectorBytes]; }
  /// Returns the value's register. Loads a spilled value into `temp` first.
  Vector read(LaneValue value, const Vector& temp) {
    const ValueLocation& location = locations_.of(value);
    if (!location.is_slot) return Vector(location.number);
    copy(temp, slot(location.number));
    return temp;
  }
  /// The register that an instruction writes its result to.
  Vector result_of(LaneValue value) const {
    const ValueLocation& location = locations_.of(value);
    return location.is_slot ? spilled_result_ : Vector(location.number);
  }
  /// Stores the current instruction's result if it is spilled.
  void keep() {
    const ValueLocation& location = locations_.of(at_);
    if (location.is_slot) copy(slot(location.number), spilled_result_);
  }
  void move(const Vector& to, const Vector& from) {
    if (to.getIdx() == from.getIdx()) return;
    kVectorBytes == 64 ? as_.vmovdqa64(to, from) : as_.vmovdqa(to, from);
  }
  /// Emits an instruction without a result that reads at most one vector. A spilled vector is loaded into `temp`.
  void emit_without_result(const LaneInstruction& i, const Vector& temp) {
    switch (i.op) {
      case LaneOp::kAssign: {
        const ValueLocation& location = locations_.of(i.a);
        const Vector value = read(i.b, temp);
        return location.is_slot ? copy(slot(location.number), value) : move(Vector(location.number), value);
      }
      case LaneOp::kStream:
        return as_.vmovntdq(memory(i), read(i.a, temp));
      case LaneOp::kAdvanceBy:
      case LaneOp::kReturnFirst:
        return emit_first_lane(i, read(i.a, temp));
      default:
        return emit_control(i);
    }
  }

  LaneLocations locations_;

 private:
  template <class To, class From>
  void copy(const To& to, const From& from) {
    kVectorBytes == 64 ? as_.vmovdqu64(to, from) : as_.vmovdqu(to, from);
  }

  Vector spilled_result_;
};

/// Emit the code for vectors of 512 and of 256 bits.
void emit_lanes_avx512(LaneAssembler&, const LaneFunction&);
void emit_lanes_avx2(LaneAssembler&, const LaneFunction&);

}  // namespace millrace
