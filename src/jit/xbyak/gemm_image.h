// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "jit/xbyak/epilogue.h"
#include "jit/xbyak/gemm_blocking.h"
#include "millrace/hal/executable.h"

namespace millrace {

inline constexpr std::size_t kMaxGemmCodeBytes = 64 << 10;

/// The microkernels and copies of a product, and the routine's parameters. Refuses more code than that; fails naming
/// what xbyak could not encode.
/// Fills format, bytes, entry and routine; the caller names target and kernel.
Result<ExecutableImage> emit_gemm_image(const GemmProblem&, const GemmBlocking&, const EpilogueProgram&, IsaLevel);

}  // namespace millrace
