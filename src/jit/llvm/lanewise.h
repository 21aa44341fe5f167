// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/llvm/target.h"
#include "millrace/jit/kernel_op.h"

namespace millrace {

/// The register type of a dtype: bool is i1, integers have no sign, f16 and bf16 never stand in a register.
llvm::Type* llvm_type(llvm::LLVMContext&, DType);
llvm::Type* llvm_type(llvm::LLVMContext&, const VectorType&);

/// The integer zero, or +0, of a scalar or vector type.
llvm::Constant* llvm_zero(llvm::Type*);

/// `bits` as the immediate of a constant instruction: in every lane of `type`.
llvm::Constant* emit_constant(llvm::LLVMContext&, const VectorType& type, std::uint64_t bits);

/// A lanewise op but kConstant, exactly as `evaluate` (jit/scalar.h) defines it. `from` is the dtype of the operands
/// (of a select: of the values), `to` the result's.
llvm::Value* emit_lanewise(llvm::IRBuilder<>&, const LlvmTarget&, KernelOp, DType from, DType to,
                           llvm::ArrayRef<llvm::Value*> operands);

/// All lanes combined as a halving tree: lane i with lane i + n/2. `op` is one of kReduce*.
llvm::Value* emit_reduce(llvm::IRBuilder<>&, const LlvmTarget&, KernelOp op, DType, llvm::Value* vector);

}  // namespace millrace
