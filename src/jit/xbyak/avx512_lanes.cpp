// SPDX-License-Identifier: Apache-2.0
// Emits AVX-512 code of lane functions. A linear scan assigns zmm registers to vectors and k1 to k6 to masks; k7 holds
// the mask of the last exchange. Compressed lanes go to a register first, because compressing to memory is microcoded
// on Zen 4.
#include <optional>

#include "jit/xbyak/lane_emitter.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

constexpr int kNumVectors = 32;
constexpr int kNumSpillTemps = 3;  // if any vector is spilled, the last registers are for a, b and the result
constexpr std::uint8_t kXorOfThree = 0x96;

/// The locations of vectors: all registers, or fewer if some are spilled.
LaneLocations locations_of_vectors(const LaneFunction& f) {
  LaneLocations locations(f, LaneValueClass::kVector, kNumVectors);
  return locations.num_slots() == 0 ? locations
                                    : LaneLocations(f, LaneValueClass::kVector, kNumVectors - kNumSpillTemps);
}

class Avx512Emitter final : public VectorEmitter<Xbyak::Zmm> {
 public:
  Avx512Emitter(LaneAssembler& as, const LaneFunction& f)
      : VectorEmitter(as, f, locations_of_vectors(f), Xbyak::Zmm(kNumVectors - 1)),
        masks_(f, LaneValueClass::kMask, kNumMaskRegisters) {
    MILLRACE_CHECK(masks_.num_slots() == 0);
  }

 private:
  using Zmm = Xbyak::Zmm;
  using Opmask = Xbyak::Opmask;

  std::uint32_t frame_bytes() const override {
    return static_cast<std::uint32_t>(locations_.num_slots() * kVectorBytes);
  }

  /// The register of a vector operand. A spilled operand is loaded into the given temporary.
  Zmm read(LaneValue value, int temp) { return VectorEmitter::read(value, Zmm(kNumVectors - kNumSpillTemps + temp)); }
  Opmask mask(LaneValue value) const { return Opmask(1 + masks_.of(value).number); }

  void emit(const LaneInstruction& i) override {
    MILLRACE_CHECK(!is_byte_ || has_trait(i.op, lane_table::kBytes));
    if (makes_vector(i.op)) {
      emit_vector(i);
      keep();
    } else if (makes_mask(i.op)) {
      emit_mask(i);
    } else {
      emit_effect(i);
    }
  }

  void emit_vector(const LaneInstruction& i) {
    const Zmm to = result_of(at_);
    switch (i.op) {
      case LaneOp::kConstant:
        return emit_constant(to, i.imm);
      case LaneOp::kNumbers:
        return as_.vmovdqu64(to, table_of([](int lane) { return lane; }));
      case LaneOp::kBroadcast:
        return is_wide_ ? as_.vpbroadcastq(to, argument(i)) : as_.vpbroadcastd(to, argument(i).cvt32());
      case LaneOp::kLoad:
        return emit_load(to, i);
      case LaneOp::kShiftLeft:
      case LaneOp::kShiftRight:
        return emit_shift(i.op, to, read(i.a, 0), i.imm);
      case LaneOp::kShiftRightSigned:
        return emit_shift_signed(to, read(i.a, 0), static_cast<std::uint8_t>(i.imm));
      case LaneOp::kInvertIfNegative:
        return emit_invert_if_negative(to, read(i.a, 0), i.imm, 0x6c);
      case LaneOp::kInvertIfNegativeThenAll:
        return emit_invert_if_negative(to, read(i.a, 0), i.imm, 0x93);
      case LaneOp::kXorLanes:
        return emit_xor_lanes(to, read(i.a, 0), static_cast<int>(i.imm));
      case LaneOp::kMoveUp:
        return emit_move(to, read(i.a, 0), read(i.b, 1), f_.num_lanes - static_cast<int>(i.imm));
      case LaneOp::kMoveDown:
        return emit_move(to, read(i.b, 1), read(i.a, 0), static_cast<int>(i.imm));
      case LaneOp::kSpread:
        return emit_spread(to, read(i.a, 0), i.imm);
      case LaneOp::kFromHalf:
        as_.vpmovdw(Xbyak::Ymm(to.getIdx()), read(i.a, 0));
        return as_.vcvtph2ps(to, Xbyak::Ymm(to.getIdx()));
      case LaneOp::kToHalf:
        as_.vcvtps2ph(Xbyak::Ymm(to.getIdx()), read(i.a, 0), 0);
        return as_.vpmovzxwd(to, Xbyak::Ymm(to.getIdx()));
      case LaneOp::kRegroupLow:
      case LaneOp::kRegroupHigh:
        return emit_regroup(to, read(i.a, 0), read(i.b, 1), BitOrder(i.imm), i.op == LaneOp::kRegroupHigh);
      case LaneOp::kExchange:
        return emit_exchange(to, i);
      case LaneOp::kSelect: {
        const Zmm a = read(i.a, 0), b = read(i.b, 1);
        return is_wide_ ? as_.vpblendmq(to | mask(i.mask), b, a) : as_.vpblendmd(to | mask(i.mask), b, a);
      }
      case LaneOp::kSelectBits:
        return emit_select_bits(to, read(i.a, 0), read(i.b, 1), i.imm);
      case LaneOp::kCountBits:
        return is_wide_ ? as_.vpopcntq(to, read(i.a, 0)) : as_.vpopcntd(to, read(i.a, 0));
      case LaneOp::kCompress: {
        const Zmm a = read(i.a, 0);
        if (is_byte_) return as_.vcompressb(to | mask(i.mask) | as_.T_z, a);
        return is_wide_ ? as_.vpcompressq(to | mask(i.mask) | as_.T_z, a)
                        : as_.vpcompressd(to | mask(i.mask) | as_.T_z, a);
      }
      case LaneOp::kVariable:
        return move(to, read(i.a, 0));
      default:
        return emit_arithmetic(to, read(i.a, 0), read(uses(i.op, lane_table::kB) ? i.b : i.a, 1), i.op);
    }
  }

  void emit_arithmetic(const Zmm& to, const Zmm& a, const Zmm& b, LaneOp op) {
    switch (op) {
      case LaneOp::kMul:
        return is_wide_ ? as_.vpmullq(to, a, b) : as_.vpmulld(to, a, b);
      case LaneOp::kMin:
        return is_wide_ ? as_.vpminsq(to, a, b) : as_.vpminsd(to, a, b);
      case LaneOp::kMax:
        if (as_.tuning().has_one_minimum_port && is_behind_minimum())
          return emit_remaining(to, a, b, result_of(at_ - 1));
        return is_wide_ ? as_.vpmaxsq(to, a, b) : as_.vpmaxsd(to, a, b);
      case LaneOp::kAnd:
        return as_.vpandd(to, a, b);
      case LaneOp::kOr:
        return as_.vpord(to, a, b);
      case LaneOp::kXor:
        return as_.vpxord(to, a, b);
      default:
        MILLRACE_CHECK(emit_plain(op, to, a, b));
    }
  }

  /// Whether the previous instruction is the minimum of the vectors that this instruction reads.
  bool is_behind_minimum() const {
    if (at_ == 0) return false;
    const LaneInstruction& i = f_.instructions[static_cast<std::size_t>(at_)];
    const LaneInstruction& last = f_.instructions[static_cast<std::size_t>(at_) - 1];
    return last.op == LaneOp::kMin && last.a == i.a && last.b == i.b;
  }

  /// Emits the maximum of a and b as a ^ b ^ minimum.
  void emit_remaining(const Zmm& to, const Zmm& a, const Zmm& b, const Zmm& minimum) {
    if (to.getIdx() == minimum.getIdx()) return as_.vpternlogd(to, a, b, kXorOfThree);
    if (to.getIdx() == b.getIdx()) return as_.vpternlogd(to, a, minimum, kXorOfThree);
    move(to, a);
    as_.vpternlogd(to, b, minimum, kXorOfThree);
  }

  void emit_constant(const Zmm& to, std::int64_t value) {
    if (value == 0) return as_.vpxord(to, to, to);
    if (value == -1) return as_.vpternlogd(to, to, to, 0xff);
    if (is_byte_) return as_.vpbroadcastb(to, table_of_all(value));
    is_wide_ ? as_.vpbroadcastq(to, table_of_all(value)) : as_.vpbroadcastd(to, table_of_all(value));
  }

  /// `truth_table` is the vpternlogd immediate of a ^ (sign & bits), or of its inverse, for operands in the order sign,
  /// a, bits.
  void emit_invert_if_negative(const Zmm& to, const Zmm& a, std::int64_t bits, std::uint8_t truth_table) {
    emit_shift_signed(to, a, is_wide_ ? 63 : 31);
    as_.vpternlogd(to, a, table_of_all(bits), truth_table);
  }
  void emit_shift_signed(const Zmm& to, const Zmm& a, std::uint8_t bits) {
    is_wide_ ? as_.vpsraq(to, a, bits) : as_.vpsrad(to, a, bits);
  }

  void emit_select_bits(const Zmm& to, const Zmm& a, const Zmm& b, std::int64_t bits) {
    constexpr std::uint8_t kIfOne = 0xe4, kIfZero = 0xd8;  // the first operand where the third is 1, or is 0
    if (to.getIdx() == b.getIdx()) return as_.vpternlogd(to, a, table_of_all(bits), kIfZero);
    move(to, a);
    as_.vpternlogd(to, b, table_of_all(bits), kIfOne);
  }

  void emit_load(const Zmm& to, const LaneInstruction& i) {
    Zmm masked = to;
    if (i.mask != kNoLaneValue) {
      move(to, read(i.a, 0));
      masked = to | mask(i.mask);
    }
    if (is_byte_) return as_.vmovdqu8(masked, memory(i));
    if (8 * i.element.bytes != f_.lane_bits) return emit_extended_load(masked, i);
    is_wide_ ? as_.vmovdqu64(masked, memory(i)) : as_.vmovdqu32(masked, memory(i));
  }

  void emit_xor_lanes(const Zmm& to, const Zmm& a, int distance) {
    // An exchange within 128 bits, or of whole blocks of 128 bits, takes one instruction with an immediate.
    const int units = is_wide_ ? distance * 2 : distance;
    if (units < 4) return as_.vpshufd(to, a, exchange_of_four(units));
    if (units % 4 == 0) return as_.vshufi64x2(to, a, a, exchange_of_four(units / 4));
    if (is_wide_ && distance < 4) return as_.vpermq(to, a, exchange_of_four(distance));
    as_.vmovdqu64(to, table_of([&](int lane) { return lane ^ distance; }));
    return is_wide_ ? as_.vpermq(to, to, a) : as_.vpermd(to, to, a);
  }

  /// The result is the lanes of `low` from lane `first` on, followed by the first lanes of `high`.
  void emit_move(const Zmm& to, const Zmm& high, const Zmm& low, int first) {
    is_wide_ ? as_.valignq(to, high, low, static_cast<std::uint8_t>(first))
             : as_.valignd(to, high, low, static_cast<std::uint8_t>(first));
  }

  void emit_spread(const Zmm& to, const Zmm& a, std::int64_t from) {
    as_.vmovdqu64(to, table_of_all(from));
    is_wide_ ? as_.vpermq(to, to, a) : as_.vpermd(to, to, a);
  }

  void emit_regroup(const Zmm& to, const Zmm& a, const Zmm& b, BitOrder order, bool is_high) {
    if (emit_regroup_in_blocks(to, a, b, order, is_high)) return;
    const int n = f_.num_lanes, block_bit = is_wide_ ? 1 : 2;
    if (order == BitOrder::rotated_down(n, block_bit, block_bit + 2)) {
      return as_.vshufi64x2(to, a, b, is_high ? kOddUnits : kEvenUnits);
    }
    if (order == BitOrder::exchanged(n, block_bit + 1))
      return as_.vshufi64x2(to, a, b, is_high ? kUpperUnits : kLowerUnits);
    as_.vmovdqu64(to, table_of([&](int lane) { return order.source(lane + (is_high ? n : 0)); }));
    is_wide_ ? as_.vpermi2q(to, a, b) : as_.vpermi2d(to, a, b);
  }

  void emit_exchange(const Zmm& to, const LaneInstruction& i) {
    if (exchange_lanes_ != i.imm) {
      as_.mov(as_.eax, static_cast<std::uint32_t>(i.imm));
      as_.kmovw(as_.k7, as_.eax);
      exchange_lanes_ = i.imm;
    }
    const Zmm a = read(i.a, 0), b = read(i.b, 1);
    is_wide_ ? as_.vpminsq(to, a, b) : as_.vpminsd(to, a, b);
    is_wide_ ? as_.vpternlogq(to | as_.k7, a, b, kXorOfThree) : as_.vpternlogd(to | as_.k7, a, b, kXorOfThree);
  }

  void emit_mask(const LaneInstruction& i) {
    const Opmask to = mask(at_);
    switch (i.op) {
      case LaneOp::kNot:
        // Bits past the last lane stay 0.
        return is_wide_ ? as_.knotb(to, mask(i.a)) : as_.knotw(to, mask(i.a));
      case LaneOp::kBoth:
        return as_.kandw(to, mask(i.a), mask(i.b));
      case LaneOp::kEither:
        return as_.korw(to, mask(i.a), mask(i.b));
      default:
        break;
    }
    const Zmm a = read(i.a, 0), b = read(i.b, 1);
    if (i.op != LaneOp::kLess && i.op != LaneOp::kAtMost && i.op != LaneOp::kEqual) {
      return is_wide_ ? as_.vcmppd(to, a, b, predicate_of(i.op)) : as_.vcmpps(to, a, b, predicate_of(i.op));
    }
    constexpr std::uint8_t kEqual = 0, kLess = 1, kAtMost = 2;
    const std::uint8_t predicate = i.op == LaneOp::kLess ? kLess : i.op == LaneOp::kAtMost ? kAtMost : kEqual;
    if (is_byte_) return as_.vpcmpb(to, a, b, predicate);
    is_wide_ ? as_.vpcmpq(to, a, b, predicate) : as_.vpcmpd(to, a, b, predicate);
  }

  void emit_effect(const LaneInstruction& i) {
    switch (i.op) {
      case LaneOp::kStore:
        return emit_store(i);
      case LaneOp::kStoreMask:
        return is_wide_ ? as_.kmovb(memory(i), mask(i.mask)) : as_.kmovw(memory(i), mask(i.mask));
      case LaneOp::kAppend:
      case LaneOp::kAppendExact:
        return emit_append(i);
      case LaneOp::kReturnAny: {
        const Zmm value = read(i.a, 0);
        as_.vptestmd(as_.k7, value, value);
        as_.xor_(as_.eax, as_.eax);
        as_.kortestw(as_.k7, as_.k7);
        as_.setne(as_.al);
        return emit_added_argument(i);
      }
      case LaneOp::kForEachWhole:
      case LaneOp::kEnd:
        exchange_lanes_.reset();
        return emit_control(i);
      default:
        return emit_without_result(i, Zmm(kNumVectors - kNumSpillTemps));
    }
  }

  void emit_store(const LaneInstruction& i) {
    Xbyak::Address to = memory(i);
    if (i.mask != kNoLaneValue) to = to | mask(i.mask);
    const Zmm value = read(i.a, 0);
    if (8 * i.element.bytes == f_.lane_bits) return is_wide_ ? as_.vmovdqu64(to, value) : as_.vmovdqu32(to, value);
    switch (i.element.bytes) {
      case 1:
        return is_wide_ ? as_.vpmovqb(to, value) : as_.vpmovdb(to, value);
      case 2:
        return is_wide_ ? as_.vpmovqw(to, value) : as_.vpmovdw(to, value);
      default:
        return as_.vpmovqd(to, value);
    }
  }

  void emit_append(const LaneInstruction& i) {
    const Zmm value = read(i.a, 0);
    is_byte_ ? as_.kmovq(as_.rax, mask(i.mask)) : as_.kmovw(as_.eax, mask(i.mask));
    as_.popcnt(as_.rax, as_.rax);
    if (i.op == LaneOp::kAppendExact) {
      as_.mov(as_.r10d, -1);
      as_.bzhi(as_.r10d, as_.r10d, as_.eax);
      as_.kmovw(as_.k7, as_.r10d);
      exchange_lanes_.reset();
      is_wide_ ? as_.vmovdqu64(memory(i) | as_.k7, value) : as_.vmovdqu32(memory(i) | as_.k7, value);
    } else {
      as_.vmovdqu64(memory(i), value);
    }
    as_.lea(argument(i), as_.ptr[argument(i) + as_.rax * lane_bytes()]);
  }

  const bool is_byte_ = f_.lane_bits == 8;
  LaneLocations masks_;
  std::optional<std::int64_t> exchange_lanes_;  // the mask in k7, if it holds one
};

}  // namespace

void emit_lanes_avx512(LaneAssembler& as, const LaneFunction& f) { Avx512Emitter(as, f).run(); }

}  // namespace millrace
