// SPDX-License-Identifier: Apache-2.0
#include "hal/host/inline_recording.h"

#include <cstring>

#include <fmt/format.h>

#include "hal/host/fill.h"
#include "hal/host/float_environment.h"
#include "hal/timepoints.h"

namespace millrace {

Status InlineRecording::prepare() {
  const std::vector<Command>& commands = check_.list().commands;
  for (std::uint32_t i = 0; i < commands.size(); ++i) {
    std::visit([this](const auto& specific) { add_step(specific); }, commands[i]);
    if (step_commands_.size() < steps_.size()) step_commands_.push_back(i);
  }
  MILLRACE_TRY(allocate_workgroup_memory());
  point_arguments();
  return {};
}

std::uint32_t InlineRecording::add_address(const BufferRange& range) {
  ranges_.push_back(range);
  return static_cast<std::uint32_t>(ranges_.size() - 1);
}

void InlineRecording::add_step(const FillCommand& fill) {
  steps_.push_back(
      FillStep{add_address(fill.destination), fill.destination.length_bytes, fill.pattern, fill.pattern_bytes});
}

void InlineRecording::add_step(const CopyCommand& copy) {
  const std::uint32_t source = add_address(copy.source);
  steps_.push_back(CopyStep{source, add_address(copy.destination), copy.source.length_bytes});
}

void InlineRecording::add_step(const DispatchCommand& dispatch) {
  const auto first_buffer = static_cast<std::uint32_t>(ranges_.size());
  for (const BufferRange& range : dispatch.buffers) add_address(range);
  size_sources_.insert(size_sources_.end(), dispatch.sizes.begin(), dispatch.sizes.end());
  steps_.push_back(DispatchStep{dispatch.kernel, dispatch.num_groups, first_buffer, {}});
}

/// Once the arrays have their final sizes: dispatches took their shares of them in order.
void InlineRecording::point_arguments() {
  addresses_.resize(ranges_.size());
  size_arguments_.resize(size_sources_.size());
  const std::int64_t* sizes = size_arguments_.data();
  for (Step& step : steps_) {
    auto* dispatch = std::get_if<DispatchStep>(&step);
    if (dispatch == nullptr) continue;
    dispatch->args = {.status = &status_word_,
                      .workgroup_memory = workgroup_memory_ ? workgroup_memory_->data() : nullptr,
                      .buffers = addresses_.data() + dispatch->first_buffer,
                      .sizes = sizes};
    sizes += info(*dispatch).num_sizes;
  }
}

/// One block serves all dispatches, which run one after another on one thread.
Status InlineRecording::allocate_workgroup_memory() {
  const KernelInfo* largest = nullptr;
  for (const Step& step : steps_) {
    const auto* dispatch = std::get_if<DispatchStep>(&step);
    if (dispatch == nullptr) continue;
    if (largest == nullptr || info(*dispatch).workgroup_bytes > largest->workgroup_bytes) largest = &info(*dispatch);
  }
  if (largest == nullptr || largest->workgroup_bytes == 0) return {};
  Result<std::shared_ptr<Buffer>> memory = Buffer::allocate(largest->workgroup_bytes);
  if (!memory.ok()) {
    return Status(memory.status().code(),
                  fmt::format("kernel '{}': workgroup memory: {}", largest->name, memory.status().message()));
  }
  workgroup_memory_ = *std::move(memory);
  return {};
}

Status InlineRecording::submit(const Submission& submission) {
  if (is_running_.exchange(true, std::memory_order_acquire)) {
    return failed_precondition(
        "submit: the recording is being submitted already, expected one submission at a time; "
        "make a recording for each thread");
  }
  // Also when `run` throws: for lack of memory, or because an observer does.
  struct Finish {
    std::atomic<bool>& is_running;
    ~Finish() { is_running.store(false, std::memory_order_release); }
  } const finish{is_running_};
  return run(submission);
}

Status InlineRecording::run(const Submission& submission) {
  MILLRACE_TRY(check_.check(submission));
  MILLRACE_TRY(check_timepoints(submission));
  MILLRACE_TRY(wait_all(submission.wait));
  resolve(submission);
  const DefaultFloatEnvironment environment;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (submission.observer != nullptr) submission.observer->begin(step_commands_[i]);
    MILLRACE_TRY(run_step(i, submission));
    if (submission.observer != nullptr) submission.observer->end(step_commands_[i]);
  }
  return {};
}

Status InlineRecording::run_step(std::size_t number, const Submission& submission) {
  const Step& step = steps_[number];
  if (const auto* dispatch = std::get_if<DispatchStep>(&step)) {
    return run_dispatch(*dispatch, step_commands_[number], submission);
  }
  if (const auto* fill = std::get_if<FillStep>(&step)) {
    run_fill(*fill, submission);
  } else {
    run_copy(std::get<CopyStep>(step), submission);
  }
  return {};
}

void InlineRecording::resolve(const Submission& submission) {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    // Integers, because an empty binding may be null, and an offset into it is fine when nothing is read there.
    const auto base = reinterpret_cast<std::uintptr_t>(submission.bindings[index_of(ranges_[i].binding)].data);
    const auto offset = static_cast<std::uintptr_t>(submission.sizes[index_of(ranges_[i].offset_bytes)]);
    addresses_[i] = reinterpret_cast<void*>(base + offset);
  }
  for (std::size_t i = 0; i < size_sources_.size(); ++i) {
    size_arguments_[i] = submission.sizes[index_of(size_sources_[i])];
  }
}

void InlineRecording::run_fill(const FillStep& fill, const Submission& submission) const {
  const auto length = static_cast<std::size_t>(submission.sizes[index_of(fill.length)]);
  fill_memory(addresses_[fill.destination], length, fill.pattern, fill.pattern_bytes);
}

void InlineRecording::run_copy(const CopyStep& copy, const Submission& submission) const {
  const auto length = static_cast<std::size_t>(submission.sizes[index_of(copy.length)]);
  if (length == 0) return;  // the addresses may be null
  std::memcpy(addresses_[copy.destination], addresses_[copy.source], length);
}

Status InlineRecording::run_dispatch(const DispatchStep& dispatch, std::size_t command, const Submission& submission) {
  const auto num_groups = static_cast<std::uint32_t>(submission.sizes[index_of(dispatch.num_groups)]);
  const KernelInfo& kernel = info(dispatch);
  status_word_ = 0;
  const Status status = run_groups({.kernel = dispatch.kernel,
                                    .args = dispatch.args,
                                    .num_groups = num_groups,
                                    .buffers = std::span(ranges_).subspan(dispatch.first_buffer, kernel.num_buffers),
                                    .sizes = submission.sizes});
  if (!status.ok()) return Status(status.code(), fmt::format("kernel '{}': {}", kernel.name, status.message()));
  if (status_word_ != 0 && submission.failure != nullptr) {
    *submission.failure = DispatchFailure{command, dispatch.kernel, status_word_};
  }
  return kernel_status(kernel.name, status_word_);
}

}  // namespace millrace
