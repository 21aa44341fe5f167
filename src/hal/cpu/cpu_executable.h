// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "hal/cpu/code_loader.h"
#include "hal/cpu/code_symbols.h"
#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

/// One kernel that the cpu device can call: an entry, a routine around a microkernel, or a HostKernel.
struct LoadedKernel {
  KernelInfo info = {};
  HostKernelEntry entry = nullptr;
  HostRoutine routine = nullptr;
  std::vector<std::int64_t> routine_parameters = {};
  const void* microkernel = nullptr;
  std::shared_ptr<const HostKernel> kernel = nullptr;

  Status run(const KernelArgs& args, std::uint32_t first_group, std::uint32_t end_group) const {
    if (entry != nullptr) {
      entry(&args, first_group, end_group);
      return {};
    }
    if (routine != nullptr) {
      routine(microkernel, routine_parameters, &args, first_group, end_group);
      return {};
    }
    return kernel->run(args, first_group, end_group);
  }
};

class CpuExecutable final : public Executable {
 public:
  /// Fails, and names the kernel, if an image is damaged or above level `best`. The kernels' addresses are reported to
  /// the tools of `symbols`.
  static Result<std::shared_ptr<CpuExecutable>> load(DeviceId device, const TargetSpec& best,
                                                     std::span<const ExecutableImage> images,
                                                     const CodeSymbols& symbols = {});

  explicit CpuExecutable(DeviceId device) : Executable(device) {}
  std::size_t num_kernels() const override { return kernels_.size(); }
  const KernelInfo& info(KernelIndex kernel) const override { return kernels_[kernel].info; }

  const LoadedKernel& kernel(KernelIndex kernel) const { return kernels_[kernel]; }

 private:
  MappedCode code_;                         // the code of all kernels
  std::shared_ptr<DebuggedCode> debugged_;  // destroyed before the code is unmapped
  IdVector<KernelIndex, LoadedKernel> kernels_;
};

}  // namespace millrace
