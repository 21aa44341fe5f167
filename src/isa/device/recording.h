// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "hal/host/inline_recording.h"
#include "isa/device/executable.h"
#include "millrace/isa/device.h"

namespace millrace {

/// The state that a device and its recordings share.
class IsaState {
 public:
  explicit IsaState(const IsaDeviceOptions& options) : options_(options) {}

  const IsaDeviceOptions& options() const { return options_; }
  void begin_submission();
  /// The seed of the next dispatch; 0 if the device's seed is 0.
  std::uint64_t next_seed();
  void add(IsaDispatch);
  std::vector<IsaDispatch> dispatches() const;

 private:
  IsaDeviceOptions options_;
  mutable std::mutex mutex_;
  std::uint64_t num_dispatches_ = 0;  // so far, in all submissions
  std::vector<IsaDispatch> dispatches_;
};

class IsaRecording final : public InlineRecording {
 public:
  /// Precondition: check_record(list, executable) is ok.
  static Result<std::shared_ptr<IsaRecording>> create(const CommandList& list,
                                                      std::shared_ptr<const IsaExecutable> executable,
                                                      const Device& device, std::shared_ptr<IsaState> state);

 private:
  IsaRecording(const CommandList& list, std::shared_ptr<const IsaExecutable> executable, const Device& device,
               std::shared_ptr<IsaState> state)
      : InlineRecording(list, executable, device), executable_(std::move(executable)), state_(std::move(state)) {}
  Status run_kernel_groups(const InlineDispatch&) const override;
  /// The memory that the dispatch may touch: its buffers, then the status word.
  std::vector<isa::LaunchBuffer> launch_buffers(const InlineDispatch&) const;

  std::shared_ptr<const IsaExecutable> executable_;
  std::shared_ptr<IsaState> state_;
};

}  // namespace millrace
