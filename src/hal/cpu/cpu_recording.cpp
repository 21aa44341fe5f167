// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/cpu_recording.h"

#include <algorithm>

namespace millrace {

Result<std::shared_ptr<CpuRecording>> CpuRecording::create(const CommandList& list,
                                                           std::shared_ptr<const CpuExecutable> executable,
                                                           const Device& device, const CpuDeviceOptions& options) {
  std::shared_ptr<CpuRecording> recording(new CpuRecording(list, std::move(executable), device, options));
  MILLRACE_TRY(recording->prepare());
  return recording;
}

Status CpuRecording::run_groups(const InlineDispatch& dispatch) const {
  const LoadedKernel& kernel = executable_->kernel(dispatch.kernel);
  for (std::uint32_t first = 0; first < dispatch.num_groups;) {
    const std::uint32_t end = first + std::min(dispatch.num_groups - first, options_.max_groups_per_call);
    MILLRACE_TRY(kernel.run(dispatch.args, first, end));
    first = end;
  }
  return {};
}

}  // namespace millrace
