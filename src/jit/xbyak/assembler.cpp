// SPDX-License-Identifier: Apache-2.0
// Emits what all generated x86 functions share: constants next to the code, and loads and stores of partial vectors.
#include "jit/xbyak/assembler.h"

namespace millrace {

Xbyak::Address VectorAssembler::constant(std::uint32_t bits) {
  for (Constant& constant : constants_) {
    if (constant.bits == bits) return ptr[rip + constant.label];
  }
  constants_.push_back({bits, Xbyak::Label()});
  return ptr[rip + constants_.back().label];
}

void VectorAssembler::zero(const Vector& to) {
  if (is_avx512_) {
    vpxord(to, to, to);
  } else {
    vxorps(to, to, to);
  }
}

void VectorAssembler::set_mask(int valid, int mask_vector) {
  if (is_avx512_) {
    mov(eax, (1u << valid) - 1);
    kmovw(mask_, eax);
    return;
  }
  mask_vector_ = mask_vector;
  uses_lane_masks_ = true;
  lea(rax, ptr[rip + lane_masks_]);
  vmovups(vector(mask_vector), ptr[rax + (8 - valid) * 4]);
}

void VectorAssembler::set_mask(const Xbyak::Reg64& valid, int mask_vector, const Xbyak::Reg64& scratch) {
  if (is_avx512_) {
    mov(scratch.cvt32(), -1);
    bzhi(scratch.cvt32(), scratch.cvt32(), valid.cvt32());
    kmovw(mask_, scratch.cvt32());
    return;
  }
  mask_vector_ = mask_vector;
  uses_lane_masks_ = true;
  lea(scratch, ptr[rip + lane_masks_]);
  shl(valid, 2);
  sub(scratch, valid);
  shr(valid, 2);
  vmovups(vector(mask_vector), ptr[scratch + 32]);
}

void VectorAssembler::load(const Vector& to, const Xbyak::RegExp& from, bool masked) {
  if (!masked) {
    vmovups(to, ptr[from]);
  } else if (is_avx512_) {
    vmovups(to | mask_ | T_z, ptr[from]);
  } else {
    vmaskmovps(to, vector(mask_vector_), ptr[from]);
  }
}

void VectorAssembler::store(const Xbyak::RegExp& to, const Vector& from, bool masked) {
  if (!masked) {
    vmovups(ptr[to], from);
  } else if (is_avx512_) {
    vmovups(ptr[to] | mask_, from);
  } else {
    vmaskmovps(ptr[to], vector(mask_vector_), from);
  }
}

void VectorAssembler::finish() {
  align(4);
  for (Constant& constant : constants_) {
    L(constant.label);
    dd(constant.bits);
  }
  if (uses_lane_masks_) {
    L(lane_masks_);
    for (int lane = 0; lane < 16; ++lane) dd(lane < 8 ? 0xffffffffu : 0u);
  }
}

}  // namespace millrace
