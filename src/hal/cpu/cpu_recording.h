// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "hal/cpu/cpu_executable.h"
#include "hal/cpu/dispatch_cost.h"
#include "hal/host/inline_recording.h"

namespace millrace {

/// Runs the groups of a dispatch on the calling thread, or shares them with the executor's threads where it is large
/// enough (DispatchCost).
class CpuRecording final : public InlineRecording {
 public:
  /// Precondition: check_record(list, executable) is ok.
  static Result<std::shared_ptr<CpuRecording>> create(const CommandList& list,
                                                      std::shared_ptr<const CpuExecutable> executable,
                                                      const Device& device, const CpuDeviceOptions& options);

 private:
  CpuRecording(const CommandList& list, std::shared_ptr<const CpuExecutable> executable, const Device& device,
               const CpuDeviceOptions& options);
  Status run_groups(const InlineDispatch&) const override;
  Status run_range(const InlineDispatch&, const KernelArgs&, GroupRange) const;
  Status run_measured(const InlineDispatch&) const;
  Status share(const InlineDispatch&, GroupRange, std::uint32_t num_workers, DispatchCost* measure) const;
  std::uint32_t run_share(const InlineDispatch&, std::uint32_t worker, GroupFailure&) const;

  std::shared_ptr<const CpuExecutable> executable_;
  CpuDeviceOptions options_;
  std::unique_ptr<DispatchCost[]> costs_;  // per command; null without an executor
};

}  // namespace millrace
