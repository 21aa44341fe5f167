// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::isa {

/// The indices of special scalar registers in a wave's register file, after s0 to s105.
inline constexpr std::uint32_t kVcc = 106, kTtmp = 108, kM0 = 124, kNull = 125, kExec = 126, kNumScalars = 128;
/// Accumulation registers (a0 to a255) follow v0 to v255.
inline constexpr std::uint32_t kFirstAccumulator = 256;
inline constexpr std::uint32_t kMaxLanes = 64;

/// How an instruction uses an operand: its width, and the bits of a constant such as 1.0.
enum class Type : std::uint8_t {
  kNone,
  kB16,
  kB32,
  kB64,
  kB96,
  kB128,
  kB256,
  kB512,  // kB16 to kB512: bits, or integers
  kI64,   // like kB64, but a 32-bit constant is sign-extended
  kF16,
  kF32,
  kF64,
  kPackedB16,
  kPackedF16,  // this and kPackedB16: two halves in one register
  kPackedF32,  // two registers
  kMask,       // one bit per lane: one scalar register, or two
  kImmediate,  // a number in the instruction, such as a branch's distance
  kText,       // text for this instruction's adaptor: "vmcnt(0)", "sendmsg(...)"
};

enum class OperandKind : std::uint8_t {
  kNone,
  kScalar,    // scalar registers
  kVector,    // vector registers
  kConstant,  // `bits`, of the operand's type
  kScc,       // the scalar condition code, as 0 or 1
  kOff,       // "off": no address register
};

/// The part of a 32-bit register that is the operand (SDWA), or the half (op_sel).
enum class Part : std::uint8_t { kWhole, kByte0, kByte1, kByte2, kByte3, kWord0, kWord1 };

struct Operand {
  OperandKind kind = OperandKind::kNone;
  Type type = Type::kNone;
  std::uint16_t first = 0;        // the first register
  std::uint16_t count = 0;        // the number of 32-bit registers
  std::uint64_t bits = 0;         // a constant's bits
  bool is_negated = false;        // -v0, after is_absolute
  bool is_absolute = false;       // |v0|
  bool is_sign_extended = false;  // sext(v0), of a part
  Part part = Part::kWhole;
  // VOP3P: the half from which each half of the result comes, and whether it is negated.
  bool low_from_high = false, high_from_high = true, negates_low = false, negates_high = false;

  bool is_vector() const { return kind == OperandKind::kVector; }
  /// Whether a vector register's bits are the operand's value, unmodified.
  bool is_plain_vector() const {
    const bool is_packed = type == Type::kPackedB16 || type == Type::kPackedF16 || type == Type::kPackedF32;
    return is_vector() && !is_packed && part == Part::kWhole && !is_negated && !is_absolute;
  }
  bool is_scalar() const { return kind == OperandKind::kScalar; }
};

}  // namespace millrace::isa
