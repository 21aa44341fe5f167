// SPDX-License-Identifier: Apache-2.0
// Runs dispatches on the sim device under observation, and keeps their counts.
#include "hal/sim/sim_recording.h"

#include "hal/sim/sim_observer.h"

namespace millrace {

void SimState::begin_submission() {
  const std::lock_guard lock(mutex_);
  dispatches_.clear();
}

KernelObservation SimState::next_observation() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = num_dispatches_++;
  return {.order_seed = options_.order_seed == 0 ? 0 : options_.order_seed + number,
          .max_lane_instructions = options_.max_lane_instructions};
}

void SimState::add(SimDispatch dispatch) {
  const std::lock_guard lock(mutex_);
  dispatches_.push_back(std::move(dispatch));
}

std::vector<SimDispatch> SimState::dispatches() const {
  const std::lock_guard lock(mutex_);
  return dispatches_;
}

Result<std::shared_ptr<SimRecording>> SimRecording::create(const CommandList& list,
                                                           std::shared_ptr<const SimExecutable> executable,
                                                           const Device& device, std::shared_ptr<SimState> state) {
  std::shared_ptr<SimRecording> recording(new SimRecording(list, std::move(executable), device, std::move(state)));
  MILLRACE_TRY(recording->prepare());
  return recording;
}

Status SimRecording::run_kernel_groups(const InlineDispatch& dispatch) const {
  const auto value = [&](SizeIndex size) { return static_cast<std::uint64_t>(dispatch.sizes[index_of(size)]); };
  const std::vector<TouchedRange>& touched = dispatch.touched;
  std::vector<ObservedBuffer> buffers;
  for (std::size_t i = 0; i < dispatch.buffers.size(); ++i) {
    const BufferRange& range = dispatch.buffers[i];
    ObservedBuffer buffer = ObservedBuffer::whole(value(range.length_bytes));
    if (!touched.empty()) {
      const auto& [all, rows] = touched[i];
      buffer.begin_bytes = value(all.offset_bytes) - value(range.offset_bytes);
      buffer.end_bytes = buffer.begin_bytes + value(all.length_bytes);
      for (const auto& [pitch, row] : rows) buffer.rows.push_back({value(pitch), value(row)});
    }
    buffers.push_back(buffer);
  }
  SimObserver observer(state_->target(), std::move(buffers));
  KernelObservation observation = state_->next_observation();
  observation.observer = &observer;
  if (dispatch.groups.size() > 0) {
    MILLRACE_TRY(executable_->kernel(dispatch.kernel)
                     .run_observed(dispatch.args, dispatch.groups.first, dispatch.groups.end, observation));
  }
  state_->add({executable_->info(dispatch.kernel).name, observer.counts(), std::string(dispatch.label)});
  return {};
}

}  // namespace millrace
