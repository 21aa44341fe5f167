// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include <xbyak/xbyak.h>

#include "millrace/hal/target_spec.h"

namespace millrace {

/// Extends xbyak with what all generated functions share: vectors of the target's width, 32-bit constants next to the
/// code, and loads and stores of partial vectors. Emits position-independent code into the caller's buffer.
class VectorAssembler : public Xbyak::CodeGenerator {
 public:
  using Vector = Xbyak::Xmm;  // sliced from Ymm or Zmm; the operand stores its width

  VectorAssembler(IsaLevel isa, std::span<std::byte> buffer)
      : Xbyak::CodeGenerator(buffer.size(), buffer.data()), is_avx512_(isa == IsaLevel::kAvx512) {}

  bool is_avx512() const { return is_avx512_; }
  int lanes() const { return is_avx512_ ? 16 : 8; }
  int vector_bytes() const { return lanes() * 4; }
  int num_vectors() const { return is_avx512_ ? 32 : 16; }
  Vector vector(int index) const { return is_avx512_ ? Vector(Xbyak::Zmm(index)) : Vector(Xbyak::Ymm(index)); }

  /// The address of a 32-bit constant.
  Xbyak::Address constant(std::uint32_t bits);
  void broadcast_constant(const Vector& to, std::uint32_t bits) { vbroadcastss(to, constant(bits)); }
  void zero(const Vector& to);

  /// Sets the mask of the following masked accesses to the first `valid` lanes. AVX2 keeps the mask in vector register
  /// `mask_vector`.
  void set_mask(int valid, int mask_vector);
  /// Like set_mask above, with the count in a register (1 to lanes). Clobbers `scratch`.
  void set_mask(const Xbyak::Reg64& valid, int mask_vector, const Xbyak::Reg64& scratch);
  /// If `masked`, lanes outside the mask access no memory, and load 0.
  void load(const Vector& to, const Xbyak::RegExp& from, bool masked);
  void store(const Xbyak::RegExp& to, const Vector& from, bool masked);

  /// Writes the constants after the code. Call once, last.
  void finish();

 private:
  struct Constant {
    std::uint32_t bits;
    Xbyak::Label label;
  };
  bool is_avx512_;
  int mask_vector_ = -1;
  const Xbyak::Opmask mask_ = Xbyak::Opmask(1);
  std::list<Constant> constants_;  // a list, because labels must not move
  bool uses_lane_masks_ = false;
  Xbyak::Label lane_masks_;  // 8 words of ones, then 8 words of zeros
};

}  // namespace millrace
