// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "hal/hip/handles.h"
#include "millrace/hal/executable.h"

namespace millrace::hip {

class HipExecutable final : public Executable {
 public:
  /// A code object that several images share is loaded once.
  static Result<std::shared_ptr<HipExecutable>> load(std::shared_ptr<Context>, const TargetSpec& target,
                                                     std::span<const ExecutableImage> images);

  explicit HipExecutable(DeviceId device) : Executable(device) {}
  std::size_t num_kernels() const override { return kernels_.size(); }
  const KernelInfo& info(KernelIndex kernel) const override { return kernels_[kernel].info; }
  Function function(KernelIndex kernel) const { return kernels_[kernel].function; }

 private:
  struct Kernel {
    KernelInfo info;
    std::shared_ptr<LoadedModule> module;  // keeps `function` alive
    Function function;
  };
  IdVector<KernelIndex, Kernel> kernels_;
};

}  // namespace millrace::hip
