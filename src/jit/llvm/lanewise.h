// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/llvm/target.h"
#include "millrace/jit/kernel_op.h"

namespace millrace {

/// The register type of a dtype: bool is i1, integers have no sign, and f16 and bf16 do not occur.
llvm::Type* llvm_type(llvm::LLVMContext&, DType);
llvm::Type* llvm_type(llvm::LLVMContext&, const VectorType&);

/// The integer 0 or +0 of a scalar or vector type.
llvm::Constant* llvm_zero(llvm::Type*);

/// The immediate `bits` of a constant instruction, in every lane of `type`.
llvm::Constant* emit_constant(llvm::LLVMContext&, const VectorType& type, std::uint64_t bits);

/// Emits a lanewise op other than kConstant, exactly as `evaluate` (jit/scalar.h) defines it. `from` is the dtype of
/// the operands (for a select, of the values), `to` that of the result.
llvm::Value* emit_lanewise(llvm::IRBuilder<>&, const LlvmTarget&, KernelOp, DType from, DType to,
                           llvm::ArrayRef<llvm::Value*> operands);

/// Combines all lanes as a halving tree: lane i with lane i + n/2. `op` is one of kReduce*.
llvm::Value* emit_reduce(llvm::IRBuilder<>&, const LlvmTarget&, KernelOp op, DType, llvm::Value* vector);

}  // namespace millrace
