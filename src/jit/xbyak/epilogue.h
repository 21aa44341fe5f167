// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jit/xbyak/gemm_problem.h"
#include "jit/xbyak/vector_ops.h"

namespace millrace {

/// One step of an epilogue, which is straight-line vector code over numbered slots. Slot 0 is the accumulator; the
/// other slots are free registers. Constants and loads are fetched again for each use: after the loop over k, registers
/// are scarcer than loads.
struct EpilogueStep {
  enum class Kind : std::uint8_t { kConstant, kLoad, kOp, kStore } kind = Kind::kOp;
  const VectorOp* op = nullptr;
  std::uint8_t result = 0;
  std::array<std::uint8_t, 3> source{};  // kStore: only the first
  std::array<std::uint8_t, 2> scratch{};
  std::uint32_t immediate = 0;  // bits of a constant, or index in GemmProblem::loads or ::stores
};

struct EpilogueProgram {
  std::vector<EpilogueStep> steps;
  int num_slots = 1;
  bool loops = false;  // runs in a loop over a tile's cells, instead of a copy for each
};

/// Fails with kUnimplemented, naming the first instruction without a row in the table of vector ops.
Result<EpilogueProgram> compile_epilogue(const Body& epilogue, const GemmProblem&);

}  // namespace millrace
