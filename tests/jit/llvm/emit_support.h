// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hal/cpu/code_loader.h"
#include "jit/llvm_client/open_module.h"
#include "millrace/hal/host_kernel.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// Where an image that is mapped begins to run.
HostKernelEntry entry_of(const MappedCode&, const ExecutableImage&);

/// A machine kernel emitted for one instruction set, and mapped.
class EmittedKernel {
 public:
  /// Fails the test when the kernel cannot be emitted.
  EmittedKernel(const MachineKernel&, IsaLevel, const MemoryPlan& = {}, const LlvmEmitOptions& = {});

  /// Runs groups [0, num_groups) and gives the status word. `workgroup_memory`: at least the plan's bytes.
  std::uint32_t run(std::vector<void*> buffers, std::vector<std::int64_t> sizes = {}, std::uint32_t num_groups = 1,
                    void* workgroup_memory = nullptr, bool streams = false) const;
  const LlvmEmitOutput& output() const { return output_; }
  const std::string& assembly() const { return output_.assembly; }

 private:
  LlvmEmitOutput output_;
  MappedCode code_;
};

/// The first difference between arrays of `dtype`, as text: "element 3: found 1, expected 2"; empty if they are equal.
/// Every NaN equals every other.
std::string first_difference(DType dtype, const void* found, const void* expected, std::size_t num_elements);

}  // namespace millrace
