// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "jit/xbyak/assembler.h"
#include "millrace/base/dtype.h"
#include "millrace/jit/kernel_op.h"

namespace millrace {

/// The registers of one vector operation. `result` may also be a source or scratch register, because only the last
/// instruction writes it.
struct VectorOperands {
  Xbyak::Xmm result;
  std::array<Xbyak::Xmm, 3> source;
  std::array<Xbyak::Xmm, 2> scratch;
};

/// One kernel op on whole vectors of 32-bit lanes. A bool is a lane of all ones or all zeros.
struct VectorOp {
  KernelOp op;
  unsigned operands, results;  // bit sets of the dtypes of the last operand, and of the result
  int num_scratch;
  void (*emit)(VectorAssembler&, const VectorOperands&);
};

/// The table row of the op, or null.
const VectorOp* find_vector_op(KernelOp op, DType operand, DType result);

}  // namespace millrace
