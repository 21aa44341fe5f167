// SPDX-License-Identifier: Apache-2.0
// Emits the microkernel that multiplies one tile by one panel.
#include "jit/xbyak/gemm_kernel.h"

#include <memory>

#include "hal/host/routines/gemm/gemm_f32.h"

namespace millrace {
namespace {

using Xbyak::Reg64;
using Xbyak::RegExp;

/// A vector of the tile.
struct Cell {
  int row, vector;
};

class GemmKernelEmitter {
 public:
  GemmKernelEmitter(VectorAssembler& assembler, const GemmKernelSpec& spec, const EpilogueProgram& epilogue,
                    const GemmProblem& problem)
      : as_(assembler), spec_(spec), epilogue_(epilogue), problem_(problem) {}

  void emit() {
    if (spec_.valid_lanes < as_.lanes()) as_.set_mask(spec_.valid_lanes, mask_vector());
    as_.mov(a_, as_.ptr[args_ + offsetof(GemmTile, a)]);
    as_.mov(b_, as_.ptr[args_ + offsetof(GemmTile, b)]);
    as_.mov(k_, as_.ptr[args_ + offsetof(GemmTile, k)]);
    if (spec_.prefetches) {
      Xbyak::Label later;  // later calls for a tile skip the prefetches
      if (spec_.has_partial) {
        as_.test(as_.dword[args_ + offsetof(GemmTile, flags)], static_cast<std::uint32_t>(GemmTile::kAddPartial));
        as_.jnz(later, VectorAssembler::T_NEAR);
      }
      prefetch_outside_panel();
      as_.L(later);
    }
    for (int i = 0; i < first_free(); ++i) as_.zero(as_.vector(i));
    loop_over_k();
    if (spec_.has_partial) {
      add_partial();
      store_partial();
    }
    load_pointers();
    run_epilogue();
    as_.vzeroupper();
    as_.ret();
  }

  void run_cell(const Cell& cell) {
    for (const EpilogueStep& step : epilogue_.steps) run_epilogue_step(step, cell);
  }

 private:
  bool is_masked(int vector) const { return vector + 1 == spec_.vectors && spec_.valid_lanes < as_.lanes(); }
  /// Register `index`, with the width that column vector `vector` needs. On Zen 4, 32-byte operations take half the
  /// time of 64-byte ones; on other cores they are no slower.
  Xbyak::Xmm sized(int index, int vector) const {
    const bool is_narrow = as_.is_avx512() && vector + 1 == spec_.vectors && spec_.valid_lanes <= 8;
    return is_narrow ? Xbyak::Xmm(Xbyak::Ymm(index)) : as_.vector(index);
  }
  Xbyak::Xmm accumulator(const Cell& cell) const { return sized(cell.row * spec_.vectors + cell.vector, cell.vector); }
  int first_free() const { return spec_.rows * spec_.vectors; }
  int mask_vector() const { return as_.num_vectors() - 1; }

  /// Prefetches what the hardware does not predict: the tile of C, which is written at the end, and the first elements
  /// of the next tile's rows of A.
  void prefetch_outside_panel() {
    const GemmAccess& result = problem_.stores[0];
    const std::size_t number = problem_.loads.size();
    as_.mov(temporary_, as_.ptr[args_ + static_cast<int>(offsetof(GemmTile, epilogue) + 8 * number)]);
    for (int r = 0; r < spec_.rows; ++r) {
      for (int v = 0; v < spec_.vectors; ++v) {
        as_.prefetcht0(as_.ptr[temporary_ + r * result.m * 4 + v * as_.vector_bytes()]);
      }
    }
    constexpr int kLineBytes = 64;
    for (int r = spec_.rows; r < 2 * spec_.rows; ++r) {
      for (int line = 0; line < 2; ++line) as_.prefetcht0(as_.ptr[a_ + r * spec_.a_row_bytes + line * kLineBytes]);
    }
  }

  /// Emits the loop. Unrolling by four hides the loop's own instructions; unrolling by more would only fill the
  /// micro-op cache.
  void loop_over_k() {
    constexpr int kUnroll = 4;
    Xbyak::Label loop, tail, tail_loop, done;
    as_.sub(k_, kUnroll);
    as_.jl(tail, VectorAssembler::T_NEAR);
    as_.align(64);
    as_.L(loop);
    for (int step = 0; step < kUnroll; ++step) step_of_k(step);
    as_.add(a_, static_cast<std::uint32_t>(kUnroll * spec_.a_step_bytes));
    as_.add(b_, static_cast<std::uint32_t>(kUnroll * spec_.b_step_bytes));
    as_.sub(k_, kUnroll);
    as_.jge(loop, VectorAssembler::T_NEAR);
    as_.L(tail);
    as_.add(k_, kUnroll);
    as_.jz(done, VectorAssembler::T_NEAR);
    as_.L(tail_loop);
    step_of_k(0);
    as_.add(a_, static_cast<std::uint32_t>(spec_.a_step_bytes));
    as_.add(b_, static_cast<std::uint32_t>(spec_.b_step_bytes));
    as_.dec(k_);
    as_.jnz(tail_loop, VectorAssembler::T_NEAR);
    as_.L(done);
  }

  void step_of_k(int step) {
    const int first_b = first_free();
    for (int v = 0; v < spec_.vectors; ++v) {
      as_.load(sized(first_b + v, v), b_ + step * spec_.b_step_bytes + v * as_.vector_bytes(),
               is_masked(v) && !spec_.b_is_padded);
    }
    const int broadcast = first_b + spec_.vectors;
    for (int r = 0; r < spec_.rows; ++r) {
      const RegExp from = a_ + r * spec_.a_row_bytes + step * spec_.a_step_bytes;
      if (spec_.vectors == 1 && as_.is_avx512()) {
        as_.vfmadd231ps(accumulator({r, 0}), sized(first_b, 0), as_.ptr_b[from]);
        continue;
      }
      as_.vbroadcastss(as_.vector(broadcast), as_.ptr[from]);
      for (int v = 0; v < spec_.vectors; ++v) {
        as_.vfmadd231ps(accumulator({r, v}), sized(broadcast, v), sized(first_b + v, v));
      }
    }
  }

  void add_partial() {
    Xbyak::Label none;
    as_.test(as_.dword[args_ + offsetof(GemmTile, flags)], static_cast<std::uint32_t>(GemmTile::kAddPartial));
    as_.jz(none, VectorAssembler::T_NEAR);
    as_.mov(temporary_, as_.ptr[args_ + offsetof(GemmTile, partial)]);
    for (int i = 0; i < first_free(); ++i) {
      as_.vaddps(as_.vector(i), as_.vector(i), as_.ptr[temporary_ + i * as_.vector_bytes()]);
    }
    as_.L(none);
  }

  void store_partial() {
    Xbyak::Label last;
    as_.test(as_.dword[args_ + offsetof(GemmTile, flags)], static_cast<std::uint32_t>(GemmTile::kStorePartial));
    as_.jz(last, VectorAssembler::T_NEAR);
    as_.mov(temporary_, as_.ptr[args_ + offsetof(GemmTile, partial)]);
    for (int i = 0; i < first_free(); ++i) as_.store(temporary_ + i * as_.vector_bytes(), as_.vector(i), false);
    as_.vzeroupper();
    as_.ret();
    as_.L(last);
  }

  void run_epilogue() {
    if (spec_.loops_epilogue) return loop_over_cells();
    for (int row = 0; row < spec_.rows; ++row) {
      for (int vector = 0; vector < spec_.vectors; ++vector) run_cell({row, vector});
    }
  }

  /// Spills the accumulators to the stack, so that the epilogue can use all registers. The spilled cells stay in L1.
  void loop_over_cells() {
    const int row_bytes = spec_.vectors * as_.vector_bytes();
    for (const Reg64& reg : {row_, cells_, row_step_}) as_.push(reg);
    as_.sub(as_.rsp, static_cast<std::uint32_t>(spec_.rows * row_bytes));
    for (int i = 0; i < first_free(); ++i) as_.store(as_.rsp + i * as_.vector_bytes(), as_.vector(i), false);
    as_.xor_(row_.cvt32(), row_.cvt32());
    as_.mov(cells_, as_.rsp);
    Xbyak::Label next_row, next_vector;
    as_.L(next_row);
    as_.xor_(column_.cvt32(), column_.cvt32());
    const int num_alike = is_masked(spec_.vectors - 1) ? spec_.vectors - 1 : spec_.vectors;
    if (num_alike > 0) {
      as_.L(next_vector);
      run_cell_in_loop(0);
      as_.add(column_, static_cast<std::uint32_t>(as_.vector_bytes()));
      as_.cmp(column_, static_cast<std::uint32_t>(num_alike * as_.vector_bytes()));
      as_.jl(next_vector, VectorAssembler::T_NEAR);
    }
    if (num_alike < spec_.vectors) run_cell_in_loop(spec_.vectors - 1);
    step_pointers_to_next_row();
    as_.add(cells_, static_cast<std::uint32_t>(row_bytes));
    as_.inc(row_);
    as_.cmp(row_, static_cast<std::uint32_t>(spec_.rows));
    as_.jl(next_row, VectorAssembler::T_NEAR);
    as_.add(as_.rsp, static_cast<std::uint32_t>(spec_.rows * row_bytes));
    for (const Reg64& reg : {row_step_, cells_, row_}) as_.pop(reg);
  }

  /// `vector` selects the code: one copy for whole vectors, one for the last vector.
  void run_cell_in_loop(int vector) {
    as_.load(slot(0, {0, vector}), cells_ + column_, false);
    run_cell({0, vector});
  }

  void step_pointers_to_next_row() {
    const auto step = [&](std::size_t number, const GemmAccess& access) {
      if (number >= std::size(pointers_) || access.m == 0) return;
      as_.add(pointers_[number], static_cast<std::uint32_t>(static_cast<std::int32_t>(access.m * 4)));
    };
    for (std::size_t i = 0; i < problem_.loads.size(); ++i) step(i, problem_.loads[i]);
    for (std::size_t i = 0; i < problem_.stores.size(); ++i) step(problem_.loads.size() + i, problem_.stores[i]);
  }

  void run_epilogue_step(const EpilogueStep& step, const Cell& cell) {
    const Xbyak::Xmm result = slot(step.result, cell);
    switch (step.kind) {
      case EpilogueStep::Kind::kConstant:
        as_.broadcast_constant(result, step.immediate);
        return;
      case EpilogueStep::Kind::kLoad: {
        const GemmAccess& access = problem_.loads[step.immediate];
        const RegExp from = epilogue_address(step.immediate, access, cell);
        if (access.n == 0) {
          as_.vbroadcastss(result, as_.ptr[from]);
        } else {
          as_.load(result, from, is_masked(cell.vector));
        }
        return;
      }
      case EpilogueStep::Kind::kOp: {
        VectorOperands operands;
        operands.result = result;
        for (std::size_t i = 0; i < 3; ++i) operands.source[i] = slot(step.source[i], cell);
        for (std::size_t i = 0; i < 2; ++i) operands.scratch[i] = slot(step.scratch[i], cell);
        step.op->emit(as_, operands);
        return;
      }
      case EpilogueStep::Kind::kStore: {
        const GemmAccess& access = problem_.stores[step.immediate];
        const std::size_t number = problem_.loads.size() + step.immediate;
        as_.store(epilogue_address(number, access, cell), slot(step.source[0], cell), is_masked(cell.vector));
        return;
      }
    }
  }

  Xbyak::Xmm slot(int number, const Cell& cell) const {
    if (spec_.loops_epilogue) return sized(number, cell.vector);
    return number == 0 ? accumulator(cell) : sized(first_free() + number - 1, cell.vector);
  }
  void load_pointers() {
    const std::size_t count = problem_.loads.size() + problem_.stores.size();
    for (std::size_t i = 0; i < std::min(count, std::size(pointers_)); ++i) {
      as_.mov(pointers_[i], as_.ptr[args_ + static_cast<int>(offsetof(GemmTile, epilogue) + 8 * i)]);
    }
  }

  RegExp epilogue_address(std::size_t number, const GemmAccess& access, const Cell& cell) {
    Reg64 base = temporary_;
    if (number < std::size(pointers_)) {
      base = pointers_[number];
    } else {
      as_.mov(base, as_.ptr[args_ + static_cast<int>(offsetof(GemmTile, epilogue) + 8 * number)]);
    }
    if (!spec_.loops_epilogue)
      return base + cell.row * access.m * 4 + (access.n != 0 ? cell.vector * as_.vector_bytes() : 0);
    if (number >= std::size(pointers_) && access.m != 0) {
      as_.imul(row_step_, row_, static_cast<int>(access.m * 4));
      as_.add(base, row_step_);
    }
    return access.n != 0 ? base + column_ : RegExp(base);
  }

  VectorAssembler& as_;
  const GemmKernelSpec& spec_;
  const EpilogueProgram& epilogue_;
  const GemmProblem& problem_;

  // System V: the argument is in rdi. All of these registers are caller-saved.
  const Reg64 args_ = as_.rdi, a_ = as_.rax, b_ = as_.rcx, k_ = as_.rdx, temporary_ = as_.rsi;
  const Reg64 pointers_[6] = {as_.rax, as_.rcx, as_.rdx, as_.r8, as_.r9, as_.r10};
  // Registers of the loop over cells. The last three are callee-saved.
  const Reg64 column_ = as_.r11;    // byte offset from the row's first cell
  const Reg64 row_ = as_.rbx;       // row index
  const Reg64 cells_ = as_.rbp;     // address of the row's cells on the stack
  const Reg64 row_step_ = as_.r12;  // scratch
};

}  // namespace

std::size_t measure_epilogue(const EpilogueProgram& epilogue, const GemmProblem& problem, IsaLevel isa) {
  constexpr std::size_t kMaxStepBytes = 160;  // ten instructions
  std::vector<std::byte> buffer(epilogue.steps.size() * kMaxStepBytes + 4096);
  VectorAssembler assembler(isa, buffer);
  const GemmKernelSpec spec{.loops_epilogue = true};
  GemmKernelEmitter(assembler, spec, epilogue, problem).run_cell({0, 0});
  const std::size_t size = assembler.getSize();
  assembler.finish();
  return size;
}

void emit_gemm_kernel(VectorAssembler& assembler, const GemmKernelSpec& spec, const EpilogueProgram& epilogue,
                      const GemmProblem& problem) {
  assembler.align(64);
  GemmKernelEmitter(assembler, spec, epilogue, problem).emit();
}

}  // namespace millrace
