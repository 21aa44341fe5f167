// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/CodeGen.h>

#include "millrace/hal/target_spec.h"
#include "millrace/jit/machine_kernel.h"
#include "millrace/jit/memory_plan.h"

namespace millrace {

/// The kernel to emit. Every function that takes one requires that verify(kernel) and plan_memory(kernel) passed.
struct LlvmKernel {
  const MachineKernel& kernel;
  const MemoryPlan& plan;
  std::string symbol;      // the only symbol its module defines
  bool has_lines = false;  // whether to add line tables for to_text(kernel)
};

/// The values available at a kernel's start. The body sees nothing else of the target's calling convention.
struct LlvmFrame {
  llvm::Function* function = nullptr;
  llvm::Value* status = nullptr;      // address of the status word
  std::vector<llvm::Value*> buffers;  // first byte of each buffer argument
  std::vector<llvm::Value*> slots;    // first byte of each slot; null if untouched
  std::vector<llvm::Value*> sizes;    // i64
  llvm::Value* streams = nullptr;     // i1: whether stores bypass the caches; null on GPUs
  llvm::Value* group = nullptr;       // i64: the workgroup's id
  llvm::Value* thread = nullptr;      // i32: this thread's id in the workgroup
};

/// Everything that differs between targets. The walk over a MachineKernel (llvm/emit.cpp) does not depend on the target
/// otherwise.
struct LlvmTarget {
  const char* triple;
  std::string cpu;
  const char* tune;  // the processor that instructions are chosen and ordered for
  /// Features in addition to the CPU's.
  const char* features;
  /// The bits of the widest vector that code generation may choose.
  const char* vector_width;
  bool has_fma;
  bool has_f16c;  // instructions that convert f16, see KernelOp::kWidenF16
  std::uint32_t subgroup_size;
  /// LLVM's sync scopes for atomics on buffers and on workgroup memory. "" means all threads.
  const char* device_scope;
  const char* workgroup_scope;
  /// Emits the entry, calls `body` with the insertion point where the code of one thread goes, and ends the function.
  void (*emit_entry)(llvm::Module&, llvm::IRBuilder<>&, const LlvmTarget&, const LlvmKernel&,
                     llvm::function_ref<void(const LlvmFrame&)> body);
  /// Emits a workgroup barrier, which also orders accesses to workgroup memory.
  void (*emit_barrier)(llvm::IRBuilder<>&);
  /// kShuffle, kShuffleXor and kBallot, for scalars.
  llvm::Value* (*emit_shuffle)(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* value, llvm::Value* lane);
  llvm::Value* (*emit_shuffle_xor)(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* value, std::uint32_t mask);
  llvm::Value* (*emit_ballot)(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* flag);
};

/// The table row of a target. Precondition: the generator supports it.
const LlvmTarget& llvm_target(const TargetSpec&);

/// Indexed by IsaLevel.
std::span<const LlvmTarget> llvm_cpu_targets(CpuTune);
/// The rows in the order of gfx_targets().
std::span<const LlvmTarget> llvm_amdgpu_targets();

/// The name of the entry in host code.
inline constexpr char kLlvmEntryName[] = "millrace_kernel";

}  // namespace millrace
