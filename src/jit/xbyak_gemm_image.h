// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/gemm_blocking.h"
#include "jit/xbyak_epilogue.h"
#include "millrace/hal/executable.h"

namespace millrace {

/// The microkernels and copies of a product, and the routine's parameters. Fails naming what xbyak could not encode.
/// Fills format, bytes, entry and routine; the caller names target and kernel.
Result<ExecutableImage> emit_gemm_image(const GemmProblem&, const GemmBlocking&, const EpilogueProgram&, IsaLevel);

}  // namespace millrace
