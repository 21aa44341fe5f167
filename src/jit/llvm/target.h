// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/CodeGen.h>

#include "millrace/hal/target_spec.h"
#include "millrace/jit/machine_kernel.h"
#include "millrace/jit/memory_plan.h"

namespace millrace {

/// The kernel that is emitted. Precondition of all that takes one: verify(kernel) and plan_memory(kernel) passed.
struct LlvmKernel {
  const MachineKernel& kernel;
  const MemoryPlan& plan;
  std::string symbol;      // the name of the one symbol that its module defines
  bool has_lines = false;  // whether code tells its lines of to_text(kernel)
};

/// The values that a kernel finds at its start. The body sees nothing else of the target's calling convention.
struct LlvmFrame {
  llvm::Function* function = nullptr;
  llvm::Value* status = nullptr;      // address of the status word
  std::vector<llvm::Value*> buffers;  // first byte of each buffer argument
  std::vector<llvm::Value*> slots;    // first byte of each slot; null where nothing touches it
  std::vector<llvm::Value*> sizes;    // i64
  llvm::Value* group = nullptr;       // i64: the workgroup's id
  llvm::Value* thread = nullptr;      // i32: this thread's id in the workgroup
};

/// All that differs between targets; the walk over a MachineKernel (llvm/emit.cpp) asks this table only.
struct LlvmTarget {
  const char* triple;
  std::string cpu;
  /// Fixed, not the host's, so that a cached image does not depend on the machine that filled the cache.
  const char* tune;
  /// Beside what the CPU has.
  const char* features;
  /// Bits of the widest vector that code generation may choose.
  const char* vector_width;
  bool has_fma;
  std::uint32_t subgroup_size;
  /// LLVM's name for the threads among which an atomic on a buffer, and one on workgroup memory, is whole. "": all.
  const char* device_scope;
  const char* workgroup_scope;
  /// Emits the entry, calls `body` with the insertion point where one thread's code goes, and ends the function.
  void (*emit_entry)(llvm::Module&, llvm::IRBuilder<>&, const LlvmTarget&, const LlvmKernel&,
                     llvm::function_ref<void(const LlvmFrame&)> body);
  /// Orders workgroup memory between the threads of a workgroup.
  void (*emit_barrier)(llvm::IRBuilder<>&);
  /// kShuffle, kShuffleXor and kBallot, of scalars.
  llvm::Value* (*emit_shuffle)(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* value, llvm::Value* lane);
  llvm::Value* (*emit_shuffle_xor)(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* value, std::uint32_t mask);
  llvm::Value* (*emit_ballot)(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* flag);
};

/// The row for a target. Precondition: the generator supports it.
const LlvmTarget& llvm_target(const TargetSpec&);

/// By IsaLevel.
std::span<const LlvmTarget> llvm_cpu_targets();
/// In the order of gfx_targets().
std::span<const LlvmTarget> llvm_amdgpu_targets();

/// The entry's name in host code.
inline constexpr char kLlvmEntryName[] = "millrace_kernel";

}  // namespace millrace
