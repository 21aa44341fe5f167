// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "jit/xbyak/epilogue.h"
#include "jit/xbyak/gemm_blocking.h"
#include "millrace/hal/executable.h"

namespace millrace {

inline constexpr std::size_t kMaxGemmCodeBytes = 64 << 10;

/// Emits the microkernels and copies of a product, and sets the routine's parameters. Fills format, bytes, entry and
/// routine; the caller sets the target and the kernel's name. Fails with kUnimplemented if the code exceeds
/// kMaxGemmCodeBytes, and with kInternal, naming the reason, if xbyak cannot encode it.
Result<ExecutableImage> emit_gemm_image(const GemmProblem&, const GemmBlocking&, const EpilogueProgram&, IsaLevel);

}  // namespace millrace
