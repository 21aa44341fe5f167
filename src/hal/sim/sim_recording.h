// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "hal/host/inline_recording.h"
#include "hal/sim/sim_executable.h"
#include "millrace/hal/sim_device.h"

namespace millrace {

/// The state that a device and its recordings share.
class SimState {
 public:
  SimState(TargetSpec target, const SimDeviceOptions& options) : target_(std::move(target)), options_(options) {}

  const TargetSpec& target() const { return target_; }
  void begin_submission();
  /// Counts a dispatch, and returns how to run it: with the options, and its own seed if the order is shuffled.
  KernelObservation next_observation();
  void add(SimDispatch);
  std::vector<SimDispatch> dispatches() const;

 private:
  TargetSpec target_;
  SimDeviceOptions options_;
  mutable std::mutex mutex_;
  std::uint64_t num_dispatches_ = 0;  // so far, in all submissions
  std::vector<SimDispatch> dispatches_;
};

class SimRecording final : public InlineRecording {
 public:
  /// Precondition: check_record(list, executable) is ok.
  static Result<std::shared_ptr<SimRecording>> create(const CommandList& list,
                                                      std::shared_ptr<const SimExecutable> executable,
                                                      const Device& device, std::shared_ptr<SimState> state);

 private:
  SimRecording(const CommandList& list, std::shared_ptr<const SimExecutable> executable, const Device& device,
               std::shared_ptr<SimState> state)
      : InlineRecording(list, executable, device), executable_(std::move(executable)), state_(std::move(state)) {}
  Status run_kernel_groups(const InlineDispatch&) const override;

  std::shared_ptr<const SimExecutable> executable_;
  std::shared_ptr<SimState> state_;
};

}  // namespace millrace
