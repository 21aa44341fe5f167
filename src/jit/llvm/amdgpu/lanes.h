// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/llvm/target.h"

namespace millrace {

// Exchanges between the threads of an AMD GPU's subgroup. On this target a thread is a lane of the vector registers,
// and every lane must be on.

/// The value of lane `lane` % subgroup size.
llvm::Value* emit_amdgpu_shuffle(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* value, llvm::Value* lane);
/// The value of the lane whose index is this lane's index xor `mask`. Precondition: mask < the subgroup size.
llvm::Value* emit_cdna_shuffle_xor(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* value, std::uint32_t mask);
llvm::Value* emit_rdna_shuffle_xor(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* value, std::uint32_t mask);
/// u64: bit i is lane i's flag.
llvm::Value* emit_amdgpu_ballot(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* flag);

}  // namespace millrace
