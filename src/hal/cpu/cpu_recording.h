// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "hal/cpu/cpu_executable.h"
#include "hal/host/inline_recording.h"

namespace millrace {

class CpuRecording final : public InlineRecording {
 public:
  /// Precondition: check_record(list, executable) is ok.
  static Result<std::shared_ptr<CpuRecording>> create(const CommandList& list,
                                                      std::shared_ptr<const CpuExecutable> executable,
                                                      const Device& device, const CpuDeviceOptions& options);

 private:
  CpuRecording(const CommandList& list, std::shared_ptr<const CpuExecutable> executable, const Device& device,
               const CpuDeviceOptions& options)
      : InlineRecording(list, executable, device), executable_(std::move(executable)), options_(options) {}
  Status run_groups(const InlineDispatch&) const override;

  std::shared_ptr<const CpuExecutable> executable_;
  CpuDeviceOptions options_;
};

}  // namespace millrace
