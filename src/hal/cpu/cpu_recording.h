// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "hal/cpu/cpu_executable.h"
#include "hal/cpu/dispatch_cost.h"
#include "hal/host/inline_recording.h"

namespace millrace {

/// Runs a stage on the calling thread. If the groups of all its steps are together enough work (DispatchCost), shares
/// them with the executor's threads.
class CpuRecording final : public InlineRecording {
 public:
  /// Precondition: check_record(list, executable) is ok.
  static Result<std::shared_ptr<CpuRecording>> create(const CommandList& list,
                                                      std::shared_ptr<const CpuExecutable> executable,
                                                      const Device& device, const CpuDeviceOptions& options);

 private:
  CpuRecording(const CommandList& list, std::shared_ptr<const CpuExecutable> executable, const Device& device,
               const CpuDeviceOptions& options);
  Status run_stage(Stage, Replay&) const override;
  Status run_kernel_groups(const InlineDispatch&) const override;

  bool is_known_small(Stage, const Replay&) const;
  bool make_plan(Stage, const Replay&) const;
  std::uint32_t num_workers(const InlineRun&) const;
  void measure_some(InlineWorker&, Replay&, WorkFailure&) const;
  Status share(std::uint32_t num_workers, Replay&, WorkFailure&) const;
  /// Runs pieces of the plan as worker number `worker`, in workgroup memory of its own, until no piece is left.
  void run_worker_share(std::uint32_t worker, const Replay&, WorkFailure&) const;
  /// Runs groups of one part on this thread, and notes a failure. Returns false if it skips them: the range is empty,
  /// or an earlier command has failed.
  bool run_part_groups(StagePart&, GroupRange, InlineWorker&, const Replay&, WorkFailure&) const;
  Status first_failure(Replay&, WorkFailure&) const;

  std::shared_ptr<const CpuExecutable> executable_;
  CpuDeviceOptions options_;
  std::unique_ptr<DispatchCost[]> costs_;  // per step; null without an executor
};

}  // namespace millrace
