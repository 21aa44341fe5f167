// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/lanes/lane_function.h"
#include "jit/xbyak/lane_assembler.h"

namespace millrace {

/// Emits a lane function: arguments, loops and pointers, which are the same at every level. A level adds what is done
/// to vectors. rax and r10 are free between instructions.
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
  /// Emits an op that takes `a`, or `a` and `b`, and that has the same one instruction at each level. False for others.
  bool emit_plain(LaneOp, const Xbyak::Xmm& to, const Xbyak::Xmm& a, const Xbyak::Operand& b);
  /// Emits kRegroupLow or kRegroupHigh for orders that move lanes within 128 bits alone. False for others.
  bool emit_regroup_in_blocks(const Xbyak::Xmm& to, const Xbyak::Xmm& a, const Xbyak::Operand& b, BitOrder order,
                              bool is_high);
  /// Two of the four units of each operand, as shuffles number them.
  static constexpr std::uint8_t kEvenUnits = 0x88, kOddUnits = 0xdd, kLowerUnits = 0x44, kUpperUnits = 0xee;
  /// How vcmpps compares for kLessFloat, kNotAtMostFloat and kUnordered. Quiet, because a NaN is no
  /// error.
  static std::uint8_t predicate_of(LaneOp);
  /// Adds the argument of kReturnAny, if it has one, to rax.
  void emit_added_argument(const LaneInstruction&);
  /// Emits kAdvanceBy and kReturnFirst.
  void emit_first_lane(const LaneInstruction&, const Xbyak::Xmm& a);

  Xbyak::Reg64 argument(std::int8_t number) const;
  Xbyak::Reg64 argument(const LaneInstruction& i) const { return argument(i.argument); }
  Xbyak::Address memory(const LaneInstruction& i) const { return as_.ptr[argument(i) + i.offset_bytes]; }
  std::uint32_t lane_bytes() const { return static_cast<std::uint32_t>(f_.lane_bits) / 8; }

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
  /// The value in every lane.
  Xbyak::Address table_of_all(std::int64_t value) {
    return table_of([&](int) { return value; });
  }

  LaneAssembler& as_;
  const LaneFunction& f_;
  const bool is_wide_;
  LaneValue at_ = 0;

 private:
  void emit_end();
  /// The elements of one iteration.
  std::uint32_t step_of(const LaneInstruction& loop) const {
    return static_cast<std::uint32_t>(loop.imm * f_.num_lanes);
  }

  std::optional<Xbyak::Label> loop_, block_end_;
  LaneInstruction looping_ = {};
};

/// The code for vectors of 512 bits, and of 256.
void emit_lanes_avx512(LaneAssembler&, const LaneFunction&);
void emit_lanes_avx2(LaneAssembler&, const LaneFunction&);

}  // namespace millrace
