// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/llvm/target.h"
#include "millrace/jit/machine_kernel.h"
#include "millrace/jit/memory_plan.h"

namespace millrace {

/// One buffer or slot while emitting.
struct LlvmMemory {
  llvm::Value* base = nullptr;
  DType dtype = DType::kF32;
  llvm::MDNode* scope = nullptr;                             // accesses of this memory
  llvm::MDNode* no_alias = nullptr;                          // the memories that share no byte with it
  llvm::SyncScope::ID sync_scope = llvm::SyncScope::System;  // of atomics: the threads that see it
};

/// Buffers first, then slots. Buffers never share bytes; slots do where the plan says so.
class LlvmMemories {
 public:
  LlvmMemories(llvm::LLVMContext&, const LlvmKernel&, const LlvmTarget&);
  /// Takes the addresses, when the frame is there.
  void bind(const LlvmFrame&);
  const LlvmMemory& operator[](MemoryRef ref) const { return memories_[ref.index + (ref.is_slot ? num_buffers_ : 0)]; }

 private:
  std::vector<LlvmMemory> memories_;
  std::size_t num_buffers_ = 0;
};

/// The memory instructions. Registers of `memory`: as machine_kernel.h says (f16 and bf16 as u16, bool as bool).
/// Offsets are in elements; masks and others are as wide as the value.
llvm::Value* emit_load(llvm::IRBuilder<>&, const LlvmMemory&, const VectorType& result, llvm::Value* offset);
llvm::Value* emit_load_masked(llvm::IRBuilder<>&, const LlvmMemory&, llvm::Value* offset, llvm::Value* mask,
                              llvm::Value* other);
llvm::Value* emit_gather(llvm::IRBuilder<>&, const LlvmMemory&, llvm::Value* offsets, llvm::Value* mask,
                         llvm::Value* other);
void emit_store(llvm::IRBuilder<>&, const LlvmMemory&, llvm::Value* offset, llvm::Value* value);
void emit_store_masked(llvm::IRBuilder<>&, const LlvmMemory&, llvm::Value* offset, llvm::Value* mask,
                       llvm::Value* value);
void emit_scatter(llvm::IRBuilder<>&, const LlvmMemory&, llvm::Value* offsets, llvm::Value* mask, llvm::Value* value);
/// The old value. `op` is one of kAtomic*.
llvm::Value* emit_atomic(llvm::IRBuilder<>&, const LlvmMemory&, KernelOp op, llvm::Value* offset, llvm::Value* value);

/// ORs `error` into the status word when any lane of `condition` is true.
void emit_report_error(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* status, llvm::Value* condition,
                       std::uint32_t error);

}  // namespace millrace
