// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/CodeGen.h>

#include "millrace/hal/target.h"
#include "millrace/jit/machine_kernel.h"
#include "millrace/jit/memory_plan.h"

namespace millrace {

/// The values that a kernel finds at its start. The body sees nothing else of the target's calling convention.
struct LlvmFrame {
  llvm::Function* function = nullptr;
  llvm::Value* status = nullptr;            // address of the status word
  llvm::Value* workgroup_memory = nullptr;  // the workgroup's block of plan.workgroup_bytes
  llvm::Value* private_memory = nullptr;    // this thread's block of plan.private_bytes; null when there are none
  std::vector<llvm::Value*> buffers;        // first byte of each buffer argument
  std::vector<llvm::Value*> sizes;          // i64
  llvm::Value* group = nullptr;             // i64: the workgroup's id
  llvm::Value* thread = nullptr;            // i32: this thread's id in the workgroup
};

/// All that differs between targets; the walk over a MachineKernel (llvm_emit.cpp) asks this table only.
struct LlvmTarget {
  const char* triple;
  const char* cpu;
  /// Fixed, not the host's, so that a cached image does not depend on the machine that filled the cache.
  const char* tune;
  /// Bits of the widest vector that code generation may choose.
  const char* vector_width;
  bool has_fma;
  /// Emits the entry, calls `body` with the insertion point where one workgroup's code goes, and ends the function.
  void (*emit_entry)(llvm::Module&, llvm::IRBuilder<>&, const LlvmTarget&, const MachineKernel&, const MemoryPlan&,
                     llvm::function_ref<void(const LlvmFrame&)> body);
  /// Orders workgroup memory between the threads of a workgroup.
  void (*emit_barrier)(llvm::IRBuilder<>&);
};

/// The row for a target. Precondition: the generator supports it.
const LlvmTarget& llvm_target(const TargetSpec&);

/// The name of the one symbol that an emitted module defines.
inline constexpr char kLlvmEntryName[] = "millrace_kernel";

}  // namespace millrace
