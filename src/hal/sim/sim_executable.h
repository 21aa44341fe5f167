// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

class SimExecutable final : public Executable {
 public:
  /// Fails naming the kernel whose image is damaged, is not for `device`, or needs more than it has.
  static Result<std::shared_ptr<SimExecutable>> load(const TargetSpec& device, std::span<const ExecutableImage> images);

  explicit SimExecutable(TargetSpec device) : device_(std::move(device)) {}
  std::size_t num_kernels() const override { return kernels_.size(); }
  const KernelInfo& info(KernelIndex kernel) const override { return kernels_[kernel].info; }

  /// What it was loaded for.
  const TargetSpec& device() const { return device_; }
  const HostKernel& kernel(KernelIndex kernel) const { return *kernels_[kernel].kernel; }

 private:
  struct SimKernel {
    KernelInfo info;
    std::shared_ptr<const HostKernel> kernel;
  };
  TargetSpec device_;
  IdVector<KernelIndex, SimKernel> kernels_;
};

}  // namespace millrace
