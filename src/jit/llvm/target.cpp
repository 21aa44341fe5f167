// SPDX-License-Identifier: Apache-2.0
// Looks up the table row of a target.
#include "jit/llvm/target.h"

namespace millrace {

const LlvmTarget& llvm_target(const TargetSpec& spec) {
  if (spec.is_cpu()) return llvm_cpu_targets(spec.tune)[static_cast<std::size_t>(spec.isa)];
  return llvm_amdgpu_targets()[static_cast<std::size_t>(spec.gfx_target() - gfx_targets().data())];
}

}  // namespace millrace
