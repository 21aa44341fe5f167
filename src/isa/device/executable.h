// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "isa/execute.h"
#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

class IsaExecutable final : public Executable {
 public:
  /// Fails if an image is not linked, is not for `target`, needs more than the target has, or disagrees with its code.
  /// The message names the kernel. A code object that several images share is decoded once.
  static Result<std::shared_ptr<IsaExecutable>> load(DeviceId device, const TargetSpec& target, MachineCodeDecoder,
                                                     std::span<const ExecutableImage> images);

  explicit IsaExecutable(DeviceId device) : Executable(device) {}
  std::size_t num_kernels() const override { return kernels_.size(); }
  const KernelInfo& info(KernelIndex kernel) const override { return kernels_[kernel].info; }

  const isa::Kernel& code(KernelIndex kernel) const { return *kernels_[kernel].code; }

 private:
  struct IsaKernel {
    KernelInfo info;
    std::shared_ptr<const isa::Program> program;  // keeps `code` alive
    const isa::Kernel* code;
  };
  IdVector<KernelIndex, IsaKernel> kernels_;
};

}  // namespace millrace
