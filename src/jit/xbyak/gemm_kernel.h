// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/xbyak/epilogue.h"
#include "jit/xbyak/gemm_blocking.h"
#include "millrace/hal/executable.h"

namespace millrace {

/// A microkernel that sums over k into a tile of `rows` x `vectors` accumulators, and then computes the epilogue and
/// stores the results.
struct GemmKernelSpec {
  int rows = 1;
  int vectors = 1;
  int valid_lanes = 16;                            // in the last vector
  std::int64_t a_row_bytes = 0, a_step_bytes = 0;  // A is broadcast element by element
  std::int64_t b_step_bytes = 0;                   // B is read in vectors
  bool b_is_padded = true;                         // the last vector may be read in full
  bool has_partial = false;                        // k is split into several calls
  bool prefetches = false;                         // k is long enough to hide the prefetches
  bool loops_epilogue = false;                     // one epilogue in a loop over cells, not one per cell
};

/// The code bytes of one cell's epilogue.
std::size_t measure_epilogue(const EpilogueProgram&, const GemmProblem&, IsaLevel);

/// Emits a MultiplyTile at the current position.
void emit_gemm_kernel(VectorAssembler&, const GemmKernelSpec&, const EpilogueProgram&, const GemmProblem&);

/// Copies a panel whose rows are contiguous and `source_step_bytes` apart to rows `packed_step_bytes` apart. A row has
/// `vectors` vectors; the last one has `valid_lanes` lanes. Emits a PackPanel.
struct GemmCopySpec {
  int vectors = 1;
  int valid_lanes = 16;
  std::int64_t source_step_bytes = 0;
  std::int64_t packed_step_bytes = 0;
};
void emit_gemm_copy(VectorAssembler&, const GemmCopySpec&);

/// Copies a panel whose columns are contiguous along k and `source_column_bytes` apart, transposing blocks of lanes x
/// lanes in registers. Writes whole blocks of k, and zeros for columns past the last one. Emits a PackPanel.
struct GemmTransposeSpec {
  int columns = 1;
  std::int64_t source_column_bytes = 0;
  std::int64_t packed_step_bytes = 0;
};
void emit_gemm_transpose(VectorAssembler&, const GemmTransposeSpec&);

inline constexpr std::size_t kMaxGemmCodeBytes = 64 << 10;

/// Emits the microkernels and copies of a product, and sets the routine's parameters. Fills format, bytes, entry and
/// routine; the caller sets the target and the kernel's name. Fails with kUnimplemented if the code exceeds
/// kMaxGemmCodeBytes, and with kInternal, naming the reason, if xbyak cannot encode it.
Result<ExecutableImage> emit_gemm_image(const GemmProblem&, const GemmBlocking&, const EpilogueProgram&, IsaLevel);

}  // namespace millrace
