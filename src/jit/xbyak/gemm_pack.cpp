// SPDX-License-Identifier: Apache-2.0
// Emits the microkernel that packs a panel of B.
#include <algorithm>

#include "jit/xbyak/gemm_kernel.h"

namespace millrace {
namespace {

using Xbyak::Reg64;
using Xbyak::RegExp;

/// Transposes lanes x lanes floats, with row i in vector i.
class Transposer {
 public:
  explicit Transposer(VectorAssembler& assembler) : as_(assembler), lanes_(assembler.lanes()) {}

  /// Each stage combines rows i and i + distance, and writes the results to the other half of the registers.
  void run() {
    stage(1, [this](auto to, auto a, auto b, bool high) { high ? as_.vunpckhps(to, a, b) : as_.vunpcklps(to, a, b); });
    stage(2, [this](auto to, auto a, auto b, bool high) { high ? as_.vunpckhpd(to, a, b) : as_.vunpcklpd(to, a, b); });
    if (!as_.is_avx512()) {
      stage(4, [this](auto to, auto a, auto b, bool high) {
        as_.vperm2f128(Xbyak::Ymm(to.getIdx()), Xbyak::Ymm(a.getIdx()), b, high ? 0x31 : 0x20);
      });
    } else {
      for (const int distance : {4, 8}) {
        stage(distance, [this](auto to, auto a, auto b, bool high) {
          as_.vshuff32x4(Xbyak::Zmm(to.getIdx()), Xbyak::Zmm(a.getIdx()), b, high ? 0xdd : 0x88);
        });
      }
    }
  }

  /// The vector that holds column `i`. The unpack stages exchange the two low bits of its index.
  int column(int i) const { return base_ + (i & ~3) + ((i & 1) << 1 | (i & 2) >> 1); }

 private:
  template <class Pair>
  void stage(int distance, Pair&& pair) {
    const int to = base_ == 0 ? lanes_ : 0;
    for (int i = 0; i < lanes_; ++i) {
      if ((i & distance) != 0) continue;
      const auto a = as_.vector(base_ + i), b = as_.vector(base_ + i + distance);
      pair(as_.vector(to + i), a, b, false);
      pair(as_.vector(to + i + distance), a, b, true);
    }
    base_ = to;
  }

  VectorAssembler& as_;
  const int lanes_;
  int base_ = 0;
};

}  // namespace

void emit_gemm_copy(VectorAssembler& as, const GemmCopySpec& spec) {
  const Reg64 source = as.rdi, packed = as.rsi, k = as.rdx;
  Xbyak::Label loop, done;
  as.align(64);
  if (spec.valid_lanes < as.lanes()) as.set_mask(spec.valid_lanes, as.num_vectors() - 1);
  as.test(k, k);
  as.jle(done, VectorAssembler::T_NEAR);
  as.align(32);
  as.L(loop);
  // Rows are too far apart for hardware prefetchers, so prefetch the row 16 steps ahead.
  constexpr int kAhead = 16;
  for (int v = 0; v < spec.vectors; ++v) {
    const bool masked = v + 1 == spec.vectors && spec.valid_lanes < as.lanes();
    as.prefetcht0(as.ptr[source + kAhead * spec.source_step_bytes + v * as.vector_bytes()]);
    as.load(as.vector(v % 4), source + v * as.vector_bytes(), masked);
    as.store(packed + v * as.vector_bytes(), as.vector(v % 4), false);
  }
  as.add(source, static_cast<std::uint32_t>(spec.source_step_bytes));
  as.add(packed, static_cast<std::uint32_t>(spec.packed_step_bytes));
  as.dec(k);
  as.jnz(loop, VectorAssembler::T_NEAR);
  as.L(done);
  as.vzeroupper();
  as.ret();
}

void emit_gemm_transpose(VectorAssembler& as, const GemmTransposeSpec& spec) {
  const Reg64 source = as.rdi, packed = as.rsi, k = as.rdx;
  const Reg64 valid_k = as.r8, column = as.r9, to = as.r10, blocks_left = as.r11, scratch = as.rcx;
  const int lanes = as.lanes();

  const auto block = [&](int columns) {
    as.set_mask(valid_k, as.num_vectors() - 1, scratch);
    for (int i = 0; i < columns; ++i) as.load(as.vector(i), column + i * spec.source_column_bytes, true);
    for (int i = columns; i < lanes; ++i) as.zero(as.vector(i));
    Transposer transposer(as);
    transposer.run();
    for (int i = 0; i < lanes; ++i) {
      as.store(to + i * spec.packed_step_bytes, as.vector(transposer.column(i)), false);
    }
  };

  Xbyak::Label loop, block_loop, done;
  as.align(64);
  as.test(k, k);
  as.jle(done, VectorAssembler::T_NEAR);
  as.L(loop);
  as.mov(valid_k, lanes);
  as.cmp(k, valid_k);
  as.cmovl(valid_k, k);
  as.mov(column, source);
  as.mov(to, packed);
  if (spec.columns >= lanes) {
    as.mov(blocks_left, spec.columns / lanes);
    as.L(block_loop);
    block(lanes);
    as.add(column, static_cast<std::uint32_t>(lanes * spec.source_column_bytes));
    as.add(to, as.vector_bytes());
    as.dec(blocks_left);
    as.jnz(block_loop, VectorAssembler::T_NEAR);
  }
  if (spec.columns % lanes != 0) block(spec.columns % lanes);
  as.add(source, as.vector_bytes());
  as.add(packed, static_cast<std::uint32_t>(lanes * spec.packed_step_bytes));
  as.sub(k, lanes);
  as.jg(loop, VectorAssembler::T_NEAR);
  as.L(done);
  as.vzeroupper();
  as.ret();
}

}  // namespace millrace
