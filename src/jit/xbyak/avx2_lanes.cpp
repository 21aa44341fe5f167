// SPDX-License-Identifier: Apache-2.0
// Emits AVX2 code of lane functions. A linear scan assigns ymm registers to vectors and to masks, which are vectors of
// 0 and -1. AVX2 has neither a compress instruction nor a minimum of 64-bit lanes: tables of permutations replace the
// former, and comparisons the latter.
#include "jit/xbyak/avx2_tables.h"
#include "jit/xbyak/lane_emitter.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

constexpr int kNumVectors = 14;  // ymm14 and ymm15 are temporaries

class Avx2Emitter final : public VectorEmitter<Xbyak::Ymm> {
 public:
  Avx2Emitter(LaneAssembler& as, const LaneFunction& f)
      : VectorEmitter(as, f, LaneLocations(f, LaneValueClass::kVectorOrMask, kNumVectors), Xbyak::Ymm(kNumVectors)) {}

 private:
  using Ymm = Xbyak::Ymm;
  using Xmm = Xbyak::Xmm;

  /// The frame holds spilled values, then one vector whose lanes are moved one by one.
  std::uint32_t frame_bytes() const override {
    return static_cast<std::uint32_t>((locations_.num_slots() + 1) * kVectorBytes);
  }
  Xbyak::Address lane_of_moved(int lane) const {
    const int bytes = locations_.num_slots() * kVectorBytes + lane * lane_bytes();
    return as_.ptr[as_.rsp + bytes];
  }

  Avx2Source source(LaneValue value) const {
    const ValueLocation& location = locations_.of(value);
    return location.is_slot ? Avx2Source(slot(location.number)) : Avx2Source(Ymm(location.number));
  }
  static Xmm low(const Ymm& ymm) { return Xmm(ymm.getIdx()); }

  void emit(const LaneInstruction& i) override {
    if (makes_vector(i.op)) {
      emit_value(result_of(at_), i);
      keep();
    } else if (makes_mask(i.op)) {
      emit_mask(result_of(at_), i);
      keep();
    } else {
      emit_effect(i);
    }
    last_ = i;
  }

  void emit_value(const Ymm& to, const LaneInstruction& i) {
    switch (i.op) {
      case LaneOp::kConstant:
        return emit_constant(to, i.imm);
      case LaneOp::kNumbers:
        return as_.vmovdqu(to, table_of([](int lane) { return lane; }));
      case LaneOp::kBroadcast:
        return emit_broadcast(to, argument(i));
      case LaneOp::kLoad:
        return emit_load(to, i);
      case LaneOp::kMin:
      case LaneOp::kMax:
        return emit_extreme(to, i);
      case LaneOp::kShiftLeft:
      case LaneOp::kShiftRight:
        return emit_shift(i.op, to, read(i.a, temp_), i.imm);
      case LaneOp::kShiftRightSigned:
        return emit_shift_signed(to, i);
      case LaneOp::kInvertIfNegative:
      case LaneOp::kInvertIfNegativeThenAll:
        return emit_invert_if_negative(to, i);
      case LaneOp::kXorLanes:
        return emit_xor_lanes(to, source(i.a), static_cast<int>(i.imm));
      case LaneOp::kMoveUp:
        return emit_move(to, i.a, i.b, kVectorBytes - static_cast<int>(i.imm) * lane_bytes());
      case LaneOp::kMoveDown:
        return emit_move(to, i.b, i.a, static_cast<int>(i.imm) * lane_bytes());
      case LaneOp::kSpread:
        return emit_spread(to, source(i.a), static_cast<int>(i.imm));
      case LaneOp::kFromHalf:
        return emit_from_half(to, read(i.a, temp_));
      case LaneOp::kToHalf:
        as_.vcvtps2ph(low(to), read(i.a, temp_), 0);
        return as_.vpmovzxwd(to, low(to));
      case LaneOp::kRegroupLow:
      case LaneOp::kRegroupHigh:
        return emit_regroup(to, read(i.a, temp_), source(i.b), BitOrder(i.imm), i.op == LaneOp::kRegroupHigh);
      case LaneOp::kExchange:
        return emit_exchange(to, i);
      case LaneOp::kSelect: {
        const Ymm b = read(i.b, temp_);
        return as_.vblendvps(to, b, source(i.a), read(i.mask, scratch_));
      }
      case LaneOp::kCompress:
        return emit_compress(to, i);
      case LaneOp::kVariable:
        return move(to, read(i.a, temp_));
      case LaneOp::kMul:
        return is_wide_ ? emit_wide_product(to, i) : as_.vpmulld(to, read(i.a, temp_), source(i.b));
      case LaneOp::kAnd:
        return as_.vpand(to, read(i.a, temp_), source(i.b));
      case LaneOp::kOr:
        return as_.vpor(to, read(i.a, temp_), source(i.b));
      case LaneOp::kXor:
        return as_.vpxor(to, read(i.a, temp_), source(i.b));
      default:
        MILLRACE_CHECK(emit_plain(i.op, to, read(i.a, temp_), source(uses(i.op, lane_table::kB) ? i.b : i.a)));
    }
  }

  void emit_broadcast(const Ymm& to, const Xbyak::Reg64& argument) {
    if (is_wide_) {
      as_.vmovq(low(to), argument);
      return as_.vpbroadcastq(to, low(to));
    }
    as_.vmovd(low(to), argument.cvt32());
    as_.vpbroadcastd(to, low(to));
  }

  /// A mask is a vector whose lanes are -1 or 0.
  void emit_mask(const Ymm& to, const LaneInstruction& i) {
    switch (i.op) {
      case LaneOp::kLess:
        return emit_greater(to, read(i.b, temp_), source(i.a));
      case LaneOp::kAtMost:
        emit_greater(to, read(i.a, temp_), source(i.b));
        return as_.vpxor(to, to, table_of_all(-1));
      case LaneOp::kEqual:
        return is_wide_ ? as_.vpcmpeqq(to, read(i.a, temp_), source(i.b))
                        : as_.vpcmpeqd(to, read(i.a, temp_), source(i.b));
      case LaneOp::kLessFloat:
      case LaneOp::kNotAtMostFloat:
      case LaneOp::kUnordered:
        return is_wide_ ? as_.vcmppd(to, read(i.a, temp_), source(i.b), predicate_of(i.op))
                        : as_.vcmpps(to, read(i.a, temp_), source(i.b), predicate_of(i.op));
      case LaneOp::kNot:
        return as_.vpxor(to, read(i.a, temp_), table_of_all(-1));
      case LaneOp::kBoth:
        return as_.vpand(to, read(i.a, temp_), source(i.b));
      case LaneOp::kEither:
        return as_.vpor(to, read(i.a, temp_), source(i.b));
      default:
        MILLRACE_CHECK(false && "not a mask");
    }
  }
  static std::uint8_t bits_of(const LaneInstruction& i) { return static_cast<std::uint8_t>(i.imm); }

  void emit_constant(const Ymm& to, std::int64_t value) {
    if (value == 0) return as_.vpxor(to, to, to);
    if (value == -1) return as_.vpcmpeqd(to, to, to);
    as_.vmovdqu(to, table_of_all(value));
  }

  void emit_greater(const Ymm& to, const Ymm& a, const Xbyak::Operand& b) {
    is_wide_ ? as_.vpcmpgtq(to, a, b) : as_.vpcmpgtd(to, a, b);
  }

  void emit_extreme(const Ymm& to, const LaneInstruction& i) {
    const bool is_min = i.op == LaneOp::kMin;
    if (!is_wide_) {
      const Ymm a = read(i.a, temp_);
      return is_min ? as_.vpminsd(to, a, source(i.b)) : as_.vpmaxsd(to, a, source(i.b));
    }
    // If the last instruction was the minimum of the same vectors, the scratch register still holds their comparison.
    const bool is_compared = !is_min && last_.op == LaneOp::kMin && last_.a == i.a && last_.b == i.b;
    const LaneValue if_less = is_min ? i.a : i.b, if_greater = is_min ? i.b : i.a;
    if (!is_compared) emit_greater(scratch_, read(i.a, temp_), source(i.b));
    as_.vblendvpd(to, read(if_less, temp_), source(if_greater), scratch_);
  }

  void emit_signs(const Ymm& to, LaneValue value) {
    if (!is_wide_) return as_.vpsrad(to, read(value, to), 31);
    as_.vpxor(to, to, to);
    as_.vpcmpgtq(to, to, source(value));
  }

  void emit_shift_signed(const Ymm& to, const LaneInstruction& i) {
    if (!is_wide_) return as_.vpsrad(to, read(i.a, temp_), bits_of(i));
    if (i.imm == 0) return move(to, read(i.a, temp_));
    emit_signs(scratch_, i.a);
    as_.vpsllq(scratch_, scratch_, static_cast<std::uint8_t>(64 - i.imm));
    as_.vpsrlq(to, read(i.a, temp_), bits_of(i));
    as_.vpor(to, to, scratch_);
  }

  void emit_invert_if_negative(const Ymm& to, const LaneInstruction& i) {
    emit_signs(scratch_, i.a);
    as_.vpand(scratch_, scratch_, table_of_all(i.imm));
    as_.vpxor(to, scratch_, source(i.a));
    if (i.op == LaneOp::kInvertIfNegativeThenAll) as_.vpxor(to, to, table_of_all(-1));
  }

  void emit_xor_lanes(const Ymm& to, const Avx2Source& a, int distance) {
    const int units = is_wide_ ? distance * 2 : distance;
    if (units < 4) return as_.vpshufd(to, a, exchange_of_four(units));
    if (units % 2 == 0) return as_.vpermq(to, a, exchange_of_four(units / 2));
    as_.vmovdqu(scratch_, table_of([&](int lane) { return lane ^ distance; }));
    as_.vpermd(to, scratch_, a);
  }

  /// The result is the bytes of `low` from byte `first` on, followed by the first bytes of `high`.
  void emit_move(const Ymm& to, LaneValue high, LaneValue low, int first) {
    constexpr int kHalf = kVectorBytes / 2;
    const bool is_whole_half = first == kHalf;
    const Ymm middle = is_whole_half ? to : scratch_;
    as_.vperm2i128(middle, read(low, temp_), source(high), 0x21);
    if (is_whole_half) return;
    if (first < kHalf) {
      as_.vpalignr(to, scratch_, source(low), static_cast<std::uint8_t>(first));
    } else {
      as_.vpalignr(to, read(high, temp_), scratch_, static_cast<std::uint8_t>(first - kHalf));
    }
  }

  void emit_spread(const Ymm& to, const Avx2Source& a, int from) {
    if (is_wide_) return as_.vpermq(to, a, static_cast<std::uint8_t>(from * 0x55));
    as_.vmovdqu(scratch_, table_of_all(from));
    as_.vpermd(to, scratch_, a);
  }

  void emit_from_half(const Ymm& to, const Ymm& a) {
    as_.vpshufb(scratch_, a, as_.table({0x0d0c'0908'0504'0100, 0, 0x0d0c'0908'0504'0100, 0}));
    as_.vpermq(scratch_, scratch_, 0x08);
    as_.vcvtph2ps(to, low(scratch_));
  }

  /// Adds the cross products (upper half times lower half), shifted up by 32 bits, to the product of the lower halves.
  void emit_wide_product(const Ymm& to, const LaneInstruction& i) {
    as_.vpsrlq(scratch_, read(i.a, scratch_), 32);
    as_.vpmuludq(scratch_, scratch_, source(i.b));
    as_.vpsrlq(temp_, read(i.b, temp_), 32);
    as_.vpmuludq(temp_, temp_, source(i.a));
    as_.vpaddq(scratch_, scratch_, temp_);
    as_.vpsllq(scratch_, scratch_, 32);
    as_.vpmuludq(to, read(i.a, temp_), source(i.b));
    as_.vpaddq(to, to, scratch_);
  }

  void emit_regroup(const Ymm& to, const Ymm& a, const Avx2Source& b, BitOrder order, bool is_high) {
    if (emit_regroup_in_blocks(to, a, b, order, is_high)) return;
    const int n = f_.num_lanes, block_bit = is_wide_ ? 1 : 2;
    if (order == BitOrder::exchanged(n, block_bit)) return as_.vperm2i128(to, a, b, is_high ? 0x31 : 0x20);
    MILLRACE_CHECK(order == BitOrder::interleaved(n));
    is_wide_ ? as_.vpunpcklqdq(scratch_, a, b) : as_.vpunpckldq(scratch_, a, b);
    is_wide_ ? as_.vpunpckhqdq(to, a, b) : as_.vpunpckhdq(to, a, b);
    as_.vperm2i128(to, scratch_, to, is_high ? 0x31 : 0x20);
  }

  void emit_exchange(const Ymm& to, const LaneInstruction& i) {
    const Ymm a = read(i.a, temp_);
    const Avx2Source b = source(i.b);
    if (!is_wide_) {
      as_.vpminsd(scratch_, a, b);
      as_.vpmaxsd(to, a, b);
      return as_.vpblendd(to, scratch_, to, static_cast<std::uint8_t>(i.imm));
    }
    emit_greater(scratch_, a, b);
    as_.vpxor(scratch_, scratch_, table_of([&](int lane) { return -(i.imm >> lane & 1); }));
    as_.vblendvpd(to, a, b, scratch_);
  }

  /// Sets eax to the mask's bits, one per lane.
  void emit_mask_bits(LaneValue mask) {
    const Ymm from = read(mask, scratch_);
    is_wide_ ? as_.vmovmskpd(as_.eax, from) : as_.vmovmskps(as_.eax, from);
  }

  void emit_compress(const Ymm& to, const LaneInstruction& i) {
    emit_mask_bits(i.mask);
    as_.lea(as_.r10, as_.table(compressing_places(f_.num_lanes)));
    as_.vpbroadcastd(scratch_, as_.ptr[as_.r10 + as_.rax * 4]);
    as_.vpsrlvd(scratch_, scratch_, as_.table({0x4'0000'0000, 0xc'0000'0008, 0x14'0000'0010, 0x1c'0000'0018}));
    as_.vpermd(to, scratch_, source(i.a));
  }

  void emit_load(const Ymm& to, const LaneInstruction& i) {
    const bool is_whole = i.element.bytes == lane_bytes();
    if (i.mask == kNoLaneValue) return is_whole ? as_.vmovdqu(to, memory(i)) : emit_extended_load(to, i);
    if (!is_whole) return emit_lanes_load(to, i);
    const Ymm mask = read(i.mask, scratch_);
    is_wide_ ? as_.vpmaskmovq(temp_, mask, memory(i)) : as_.vpmaskmovd(temp_, mask, memory(i));
    as_.vpandn(scratch_, mask, source(i.a));
    as_.vpor(to, scratch_, temp_);
  }

  /// Emits `body` for each lane. At run time, the code for a lane is skipped unless the lane is in the mask.
  template <class Body>
  void for_lanes(LaneValue mask, const Body& body) {
    emit_mask_bits(mask);
    for (int lane = 0; lane < f_.num_lanes; ++lane) {
      Xbyak::Label next;
      as_.test(as_.al, 1 << lane);
      as_.jz(next);
      body(lane);
      as_.L(next);
    }
  }

  const Xbyak::AddressFrame& sized(const LaneInstruction& i) const {
    return i.element.bytes == 1 ? as_.byte : i.element.bytes == 2 ? as_.word : as_.dword;
  }
  /// Emulates a masked load of elements that are narrower than lanes; AVX2 has no such load.
  void emit_lanes_load(const Ymm& to, const LaneInstruction& i) {
    as_.vmovdqu(lane_of_moved(0), read(i.a, temp_));
    for_lanes(i.mask, [&](int lane) {
      const Xbyak::RegExp from = argument(i) + (i.offset_bytes + lane * i.element.bytes);
      const Xbyak::Reg64 x = as_.r10;
      if (i.element.bytes < 4) {
        i.element.is_signed ? as_.movsx(x, sized(i)[from]) : as_.movzx(x.cvt32(), sized(i)[from]);
      } else {
        i.element.is_signed ? as_.movsxd(x, as_.dword[from]) : as_.mov(x.cvt32(), as_.dword[from]);
      }
      is_wide_ ? as_.mov(lane_of_moved(lane), x) : as_.mov(lane_of_moved(lane), x.cvt32());
    });
    as_.vmovdqu(to, lane_of_moved(0));
  }

  void emit_effect(const LaneInstruction& i) {
    switch (i.op) {
      case LaneOp::kStore:
        return emit_store(i);
      case LaneOp::kStoreMask:
        emit_mask_bits(i.mask);
        return as_.mov(memory(i), as_.al);
      case LaneOp::kAppend:
      case LaneOp::kAppendExact:
        return emit_append(i);
      case LaneOp::kReturnAny: {
        const Ymm value = read(i.a, temp_);
        as_.xor_(as_.eax, as_.eax);
        as_.vptest(value, value);
        as_.setne(as_.al);
        return emit_added_argument(i);
      }
      default:
        return emit_without_result(i, temp_);
    }
  }

  void emit_store(const LaneInstruction& i) {
    const Ymm value = read(i.a, temp_);
    const bool is_whole = i.element.bytes == lane_bytes();
    if (i.mask == kNoLaneValue) return is_whole ? as_.vmovdqu(memory(i), value) : emit_cut_store(i, value);
    if (is_whole) {
      const Ymm mask = read(i.mask, scratch_);
      return is_wide_ ? as_.vpmaskmovq(memory(i), mask, value) : as_.vpmaskmovd(memory(i), mask, value);
    }
    as_.vmovdqu(lane_of_moved(0), value);
    for_lanes(i.mask, [&](int lane) {
      const Xbyak::RegExp to = argument(i) + (i.offset_bytes + lane * i.element.bytes);
      as_.mov(as_.r10d, lane_of_moved(lane));
      as_.mov(sized(i)[to], as_.r10.changeBit(8 * i.element.bytes));
    });
  }

  /// Packs the elements of each half of the vector at the start of that half, then joins the halves.
  void emit_cut_store(const LaneInstruction& i, const Ymm& value) {
    const int half_lanes = f_.num_lanes / 2, bytes = i.element.bytes;
    as_.vpshufb(scratch_, value, as_.table(bytes_of_cut_lanes(half_lanes, lane_bytes(), bytes)));
    as_.vextracti128(low(temp_), scratch_, 1);
    switch (half_lanes * bytes) {
      case 2:
        as_.vpunpcklwd(low(scratch_), low(scratch_), low(temp_));
        return as_.vmovd(memory(i), low(scratch_));
      case 4:
        as_.vpunpckldq(low(scratch_), low(scratch_), low(temp_));
        return as_.vmovq(memory(i), low(scratch_));
      default:
        as_.vpunpcklqdq(low(scratch_), low(scratch_), low(temp_));
        return as_.vmovdqu(memory(i), low(scratch_));
    }
  }

  void emit_append(const LaneInstruction& i) {
    if (last_.op != LaneOp::kCompress || last_.mask != i.mask) emit_mask_bits(i.mask);
    const Ymm value = read(i.a, temp_);
    as_.popcnt(as_.eax, as_.eax);
    if (i.op == LaneOp::kAppendExact) {
      // The mask of the first n lanes begins n lanes before the first zero of the table.
      as_.lea(as_.r10, as_.table({~0ull, ~0ull, ~0ull, ~0ull, 0, 0, 0, 0}));
      as_.neg(as_.rax);
      as_.vmovdqu(scratch_, as_.ptr[as_.r10 + as_.rax * lane_bytes() + kVectorBytes]);
      as_.neg(as_.rax);
      is_wide_ ? as_.vpmaskmovq(memory(i), scratch_, value) : as_.vpmaskmovd(memory(i), scratch_, value);
    } else {
      as_.vmovdqu(memory(i), value);
    }
    as_.lea(argument(i), as_.ptr[argument(i) + as_.rax * lane_bytes()]);
  }

  Ymm temp_ = Ymm(kNumVectors), scratch_ = Ymm(kNumVectors + 1);
  LaneInstruction last_ = {};
};

}  // namespace

void emit_lanes_avx2(LaneAssembler& as, const LaneFunction& f) { Avx2Emitter(as, f).run(); }

}  // namespace millrace
