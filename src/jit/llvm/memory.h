// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/llvm/target.h"
#include "millrace/jit/machine_kernel.h"
#include "millrace/jit/memory_plan.h"

namespace millrace {

/// A buffer or slot during emission.
struct LlvmMemory {
  llvm::Value* base = nullptr;
  DType dtype = DType::kF32;
  llvm::MDNode* scope = nullptr;                             // alias scope of the accesses to this memory
  llvm::MDNode* no_alias = nullptr;                          // scopes of the memories that share no byte with this one
  llvm::SyncScope::ID sync_scope = llvm::SyncScope::System;  // for atomics: the threads that may access it
};

/// The buffers, then the slots. Buffers never share bytes. Slots share bytes if they overlap in the plan.
class LlvmMemories {
 public:
  LlvmMemories(llvm::LLVMContext&, const LlvmKernel&, const LlvmTarget&);
  /// Takes the addresses of the memories from the frame.
  void bind(const LlvmFrame&);
  const LlvmMemory& operator[](MemoryRef ref) const { return memories_[ref.index + (ref.is_slot ? num_buffers_ : 0)]; }

 private:
  std::vector<LlvmMemory> memories_;
  std::size_t num_buffers_ = 0;
};

/// The memory instructions. Registers have the memory's register_dtype (f16 and bf16 as u16, bool as bool). Offsets are
/// in elements; `mask` and `other` have as many lanes as the value.
llvm::Value* emit_load(llvm::IRBuilder<>&, const LlvmMemory&, const VectorType& result, llvm::Value* offset);
llvm::Value* emit_load_masked(llvm::IRBuilder<>&, const LlvmMemory&, llvm::Value* offset, llvm::Value* mask,
                              llvm::Value* other);
llvm::Value* emit_gather(llvm::IRBuilder<>&, const LlvmTarget&, const LlvmMemory&, llvm::Value* offsets,
                         llvm::Value* mask, llvm::Value* other);
void emit_store(llvm::IRBuilder<>&, const LlvmMemory&, llvm::Value* offset, llvm::Value* value);

/// Emits stores that bypass the caches if the frame's `streams` is set. Stores without an instruction between them
/// share one branch.
class StreamingStores {
 public:
  void emit(llvm::IRBuilder<>&, const LlvmFrame&, const LlvmMemory&, llvm::Value* offset, llvm::Value* value);

 private:
  void branch(llvm::IRBuilder<>&, const LlvmFrame&);

  llvm::BranchInst* branch_ = nullptr;  // the last branch: to the streaming stores, or to the plain ones
  llvm::BasicBlock* after_ = nullptr;   // where its paths meet
};

void emit_store_masked(llvm::IRBuilder<>&, const LlvmMemory&, llvm::Value* offset, llvm::Value* mask,
                       llvm::Value* value);
void emit_scatter(llvm::IRBuilder<>&, const LlvmMemory&, llvm::Value* offsets, llvm::Value* mask, llvm::Value* value);
/// Returns the old value. `op` is one of kAtomic*.
llvm::Value* emit_atomic(llvm::IRBuilder<>&, const LlvmMemory&, KernelOp op, llvm::Value* offset, llvm::Value* value);

/// ORs `error` into the status word if any lane of `condition` is true.
void emit_report_error(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* status, llvm::Value* condition,
                       std::uint32_t error);

}  // namespace millrace
