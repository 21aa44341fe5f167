// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jit/xbyak/gemm_problem.h"
#include "jit/xbyak/vector_ops.h"

namespace millrace {

/// An epilogue as straight-line vector code over numbered slots. Slot 0 is the accumulator; the others are free
/// registers. Constants and loads are fetched anew for each use: registers are scarcer than loads after a loop of k.
struct EpilogueStep {
  enum class Kind : std::uint8_t { kConstant, kLoad, kOp, kStore } kind = Kind::kOp;
  const VectorOp* op = nullptr;
  std::uint8_t result = 0;
  std::array<std::uint8_t, 3> source{};  // kStore: the first
  std::array<std::uint8_t, 2> scratch{};
  std::uint32_t immediate = 0;  // constant bits; index in GemmProblem::loads or ::stores
};

struct EpilogueProgram {
  std::vector<EpilogueStep> steps;
  int num_slots = 1;
  bool loops = false;  // over a tile's cells, in place of a copy for each
};

/// Fails naming the first instruction that has no row in the table of vector ops.
Result<EpilogueProgram> compile_epilogue(const Body& epilogue, const GemmProblem&);

}  // namespace millrace
