// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/xbyak/epilogue.h"
#include "jit/xbyak/gemm_problem.h"

namespace millrace {

/// One microkernel: a tile of `rows` x `vectors` accumulators over k, then the epilogue and the stores.
struct GemmKernelSpec {
  int rows = 1;
  int vectors = 1;
  int valid_lanes = 16;                            // of the last vector
  std::int64_t a_row_bytes = 0, a_step_bytes = 0;  // A is broadcast element by element
  std::int64_t b_step_bytes = 0;                   // B is read in vectors
  bool b_is_padded = true;                         // all lanes of the last vector may be read
  bool has_partial = false;                        // k comes in several blocks
  bool prefetches = false;                         // the sum is long enough to hide them
  bool loops_epilogue = false;                     // over the tile's cells, which go to the stack; else a copy for each
};

/// Bytes of the epilogue of one cell.
std::size_t measure_epilogue(const EpilogueProgram&, const GemmProblem&, IsaLevel);

/// Emits a GemmMicrokernel at the present position.
void emit_gemm_kernel(VectorAssembler&, const GemmKernelSpec&, const EpilogueProgram&, const GemmProblem&);

/// Copies a panel whose rows are `source_step_bytes` apart and contiguous: `vectors` vectors, the last of
/// `valid_lanes`, to rows `packed_step_bytes` apart. Emits a GemmPack.
struct GemmCopySpec {
  int vectors = 1;
  int valid_lanes = 16;
  std::int64_t source_step_bytes = 0;
  std::int64_t packed_step_bytes = 0;
};
void emit_gemm_copy(VectorAssembler&, const GemmCopySpec&);

/// Copies a panel whose columns are `source_column_bytes` apart and contiguous along k: blocks of lanes x lanes are
/// transposed in registers. Writes whole blocks of k; columns past the last are 0. Emits a GemmPack.
struct GemmTransposeSpec {
  int columns = 1;
  std::int64_t source_column_bytes = 0;
  std::int64_t packed_step_bytes = 0;
};
void emit_gemm_transpose(VectorAssembler&, const GemmTransposeSpec&);

}  // namespace millrace
