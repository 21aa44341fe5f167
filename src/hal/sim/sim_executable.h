// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

class SimExecutable final : public Executable {
 public:
  /// Fails if an image is damaged, is not for `target`, or needs more than the target has. The error names the kernel.
  static Result<std::shared_ptr<SimExecutable>> load(DeviceId device, const TargetSpec& target,
                                                     std::span<const ExecutableImage> images);

  explicit SimExecutable(DeviceId device) : Executable(device) {}
  std::size_t num_kernels() const override { return kernels_.size(); }
  const KernelInfo& info(KernelIndex kernel) const override { return kernels_[kernel].info; }

  const HostKernel& kernel(KernelIndex kernel) const { return *kernels_[kernel].kernel; }

 private:
  struct SimKernel {
    KernelInfo info;
    std::shared_ptr<const HostKernel> kernel;
  };
  IdVector<KernelIndex, SimKernel> kernels_;
};

}  // namespace millrace
