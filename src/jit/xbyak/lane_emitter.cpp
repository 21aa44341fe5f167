// SPDX-License-Identifier: Apache-2.0
// The base of the AVX2 and AVX-512 emitters of lane functions: arguments, blocks and plain instructions.
#include "jit/xbyak/lane_emitter.h"

#include "millrace/base/check.h"

namespace millrace {

void LaneEmitter::run() {
  const std::uint32_t frame = frame_bytes();
  if (frame > 0) as_.sub(as_.rsp, frame);
  for (at_ = 0; at_ < static_cast<LaneValue>(f_.instructions.size()); ++at_) {
    emit(f_.instructions[static_cast<std::size_t>(at_)]);
  }
  if (frame > 0) as_.add(as_.rsp, frame);
  as_.vzeroupper();
  as_.ret();
}

Xbyak::Reg64 LaneEmitter::argument(int number) const {
  const std::array<Xbyak::Reg64, kMaxLaneArguments> registers = {as_.rdi, as_.rsi, as_.rdx, as_.rcx,
                                                                 as_.r8,  as_.r9,  as_.r11};
  return registers[static_cast<std::size_t>(number)];
}

void LaneEmitter::emit_control(const LaneInstruction& i) {
  switch (i.op) {
    case LaneOp::kPrefetch:
      return as_.prefetcht0(memory(i));
    case LaneOp::kPrefetchToWrite:
      return as_.prefetchw(memory(i));
    case LaneOp::kAdvance:
      return i.imm < 0 ? as_.sub(argument(i), static_cast<std::uint32_t>(-i.imm))
                       : as_.add(argument(i), static_cast<std::uint32_t>(i.imm));
    case LaneOp::kAdvanceByArgument:
      if (i.imm == 1) return as_.add(argument(i), argument(i.by));
      as_.imul(as_.rax, argument(i.by), static_cast<int>(i.imm));
      return as_.add(argument(i), as_.rax);
    case LaneOp::kLoadPointer:
      return as_.mov(argument(i), as_.ptr[argument(i.by) + i.offset_bytes]);
    case LaneOp::kStorePointer:
      return as_.mov(as_.ptr[argument(i.by) + i.offset_bytes], argument(i));
    case LaneOp::kForEachWhole:
      loop_.emplace();
      block_end_.emplace();
      looping_ = i;
      as_.sub(argument(i), step_of(i));
      as_.jb(*block_end_, Xbyak::CodeGenerator::T_NEAR);
      as_.align(32);
      return as_.L(*loop_);
    case LaneOp::kIfAny:
      block_end_.emplace();
      as_.test(argument(i), argument(i));
      return as_.jle(*block_end_, Xbyak::CodeGenerator::T_NEAR);
    case LaneOp::kEnd:
      return emit_end();
    case LaneOp::kReturn:
      return as_.mov(as_.rax, argument(i));
    default:
      MILLRACE_CHECK(false);
  }
}

bool LaneEmitter::emit_plain(LaneOp op, const Xbyak::Xmm& to, const Xbyak::Xmm& a, const Xbyak::Operand& b) {
#define MILLRACE_PLAIN(op, narrow, wide)                  \
  case LaneOp::op:                                        \
    is_wide_ ? as_.wide(to, a, b) : as_.narrow(to, a, b); \
    return true;
  switch (op) {
    MILLRACE_PLAIN(kAdd, vpaddd, vpaddq)
    MILLRACE_PLAIN(kSub, vpsubd, vpsubq)
    MILLRACE_PLAIN(kAddFloat, vaddps, vaddpd)
    MILLRACE_PLAIN(kSubFloat, vsubps, vsubpd)
    MILLRACE_PLAIN(kMulFloat, vmulps, vmulpd)
    MILLRACE_PLAIN(kDivFloat, vdivps, vdivpd)
    MILLRACE_PLAIN(kMinFloat, vminps, vminpd)
    MILLRACE_PLAIN(kMaxFloat, vmaxps, vmaxpd)
    case LaneOp::kFromInt:
      as_.vcvtdq2ps(to, a);
      return true;
    case LaneOp::kToInt:
      as_.vcvttps2dq(to, a);
      return true;
    default:
      return false;
  }
#undef MILLRACE_PLAIN
}

void LaneEmitter::emit_shift(LaneOp op, const Xbyak::Xmm& to, const Xbyak::Xmm& a, std::int64_t imm) {
  const auto bits = static_cast<std::uint8_t>(imm);
  if (op == LaneOp::kShiftLeft) return is_wide_ ? as_.vpsllq(to, a, bits) : as_.vpslld(to, a, bits);
  is_wide_ ? as_.vpsrlq(to, a, bits) : as_.vpsrld(to, a, bits);
}

void LaneEmitter::emit_extended_load(const Xbyak::Xmm& to, const LaneInstruction& i) {
  const Xbyak::Address from = memory(i);
  const bool is_signed = i.element.is_signed;
  switch (i.element.bytes) {
    case 1:
      if (is_wide_) return is_signed ? as_.vpmovsxbq(to, from) : as_.vpmovzxbq(to, from);
      return is_signed ? as_.vpmovsxbd(to, from) : as_.vpmovzxbd(to, from);
    case 2:
      if (is_wide_) return is_signed ? as_.vpmovsxwq(to, from) : as_.vpmovzxwq(to, from);
      return is_signed ? as_.vpmovsxwd(to, from) : as_.vpmovzxwd(to, from);
    default:
      return is_signed ? as_.vpmovsxdq(to, from) : as_.vpmovzxdq(to, from);
  }
}

bool LaneEmitter::emit_regroup_in_blocks(const Xbyak::Xmm& to, const Xbyak::Xmm& a, const Xbyak::Operand& b,
                                         BitOrder order, bool is_high) {
  const int n = f_.num_lanes;
  if (order == BitOrder::exchanged(n, is_wide_ ? 0 : 1)) {
    is_high ? as_.vpunpckhqdq(to, a, b) : as_.vpunpcklqdq(to, a, b);
  } else if (!is_wide_ && order == BitOrder::rotated_up(n, 0, 2)) {
    is_high ? as_.vpunpckhdq(to, a, b) : as_.vpunpckldq(to, a, b);
  } else if (!is_wide_ && order == BitOrder::rotated_down(n, 0, 2)) {
    as_.vshufps(to, a, b, is_high ? kOddUnits : kEvenUnits);
  } else {
    return false;
  }
  return true;
}

std::uint8_t LaneEmitter::predicate_of(LaneOp op) {
  constexpr std::uint8_t kLessQuiet = 0x11, kNotAtMostQuiet = 0x16, kUnorderedQuiet = 0x03;
  switch (op) {
    case LaneOp::kLessFloat:
      return kLessQuiet;
    case LaneOp::kNotAtMostFloat:
      return kNotAtMostQuiet;
    default:
      return kUnorderedQuiet;
  }
}

void LaneEmitter::emit_first_lane(const LaneInstruction& i, const Xbyak::Xmm& a) {
  const Xbyak::Xmm low(a.getIdx());
  if (is_wide_) {
    as_.vmovq(as_.rax, low);
  } else {
    as_.vmovd(as_.eax, low);
    as_.movsxd(as_.rax, as_.eax);
  }
  if (i.op == LaneOp::kReturnFirst) return;
  as_.imul(as_.rax, as_.rax, static_cast<int>(i.imm));
  as_.add(argument(i), as_.rax);
}

void LaneEmitter::emit_end() {
  if (!loop_) {
    as_.L(*block_end_);
    return;
  }
  as_.sub(argument(looping_), step_of(looping_));
  as_.jae(*loop_, Xbyak::CodeGenerator::T_NEAR);
  as_.L(*block_end_);
  as_.add(argument(looping_), step_of(looping_));
  loop_.reset();
}

void emit_lanes(LaneAssembler& as, const LaneFunction& f) {
  const bool is_avx512 = f.num_lanes * f.lane_bits == 512;
  is_avx512 ? emit_lanes_avx512(as, f) : emit_lanes_avx2(as, f);
}

}  // namespace millrace
