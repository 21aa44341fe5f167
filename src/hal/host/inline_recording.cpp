// SPDX-License-Identifier: Apache-2.0
#include "hal/host/inline_recording.h"

#include <chrono>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "hal/command_text.h"
#include "hal/device_errors.h"
#include "hal/host/fill.h"
#include "hal/host/float_environment.h"
#include "hal/host/host_buffer.h"
#include "hal/timepoints.h"

namespace millrace {
namespace {

/// Notes when the steps of a submission end, each of which begins when the one before it ends.
class StepClock {
 public:
  explicit StepClock(SubmissionTimes* times) : times_(times) {
    if (times == nullptr) return;
    times->commands.clear();
    begin_ = Clock::now();
  }
  void end(std::size_t command) {
    if (times_ == nullptr) return;
    const auto now = static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - begin_).count());
    times_->commands.push_back({command, last_ns_, now});
    last_ns_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  SubmissionTimes* times_;
  Clock::time_point begin_ = {};
  std::uint64_t last_ns_ = 0;
};

}  // namespace

Status InlineRecording::prepare() {
  const std::vector<Command>& commands = check_.list().commands;
  for (std::uint32_t i = 0; i < commands.size(); ++i) {
    std::visit([this](const auto& specific) { add_step(specific); }, commands[i]);
    if (step_commands_.size() < steps_.size()) step_commands_.push_back(i);
  }
  MILLRACE_TRY_ASSIGN(std::unique_ptr<InlineRun> run, make_run());
  runs_.set_first(std::move(run));
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

void InlineRecording::add_copy(const BufferRange& source, const BufferRange& destination) {
  const std::uint32_t from = add_address(source);
  steps_.push_back(CopyStep{from, add_address(destination), source.length_bytes});
}

void InlineRecording::add_step(const DispatchCommand& dispatch) {
  const DispatchStep step{.kernel = dispatch.kernel,
                          .num_groups = dispatch.num_groups,
                          .first_buffer = static_cast<std::uint32_t>(ranges_.size()),
                          .num_buffers = static_cast<std::uint32_t>(dispatch.buffers.size()),
                          .first_size = static_cast<std::uint32_t>(size_sources_.size())};
  for (const BufferRange& range : dispatch.buffers) add_address(range);
  size_sources_.insert(size_sources_.end(), dispatch.sizes.begin(), dispatch.sizes.end());
  steps_.push_back(step);
  const KernelInfo& kernel = info(step);
  if (kernel.workgroup_bytes > (largest_ == nullptr ? 0 : largest_->workgroup_bytes)) largest_ = &kernel;
}

/// A worker's block of workgroup memory serves all dispatches, which run one after another.
Result<std::unique_ptr<InlineRun>> InlineRecording::make_run() const {
  auto run = std::make_unique<InlineRun>();
  run->bases.resize(check_.list().bindings.size());
  run->addresses.resize(ranges_.size());
  run->size_arguments.resize(size_sources_.size());
  if (num_workers_ > 1) run->shares = std::make_unique<GroupShares>(num_workers_);
  if (largest_ == nullptr) return run;
  // Rounding up or multiplying may leave the range: then so many bytes that there are none.
  constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::ptrdiff_t>::max();
  const std::uint64_t bytes = largest_->workgroup_bytes;
  if (num_workers_ > 1 && bytes < kMaxBytes / num_workers_ - Buffer::kAlignment) {
    run->workgroup_stride = (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
  }
  Result<std::shared_ptr<Buffer>> memory =
      allocate_host_buffer(run->workgroup_stride == 0 ? bytes : run->workgroup_stride * num_workers_);
  if (!memory.ok()) {
    return Status(memory.status().code(),
                  fmt::format("kernel '{}': workgroup memory: {}", largest_->name, memory.status().message()));
  }
  run->workgroup_memory = *std::move(memory);
  return run;
}

Status InlineRecording::check(const Submission& submission) const {
  Status status = check_.check(submission);
  if (!status.ok() || (submission.wait.empty() && submission.signal.empty())) return status;
  return check_timepoints(submission);
}

Status InlineRecording::run(const Submission& submission) const {
  if (!submission.wait.empty()) MILLRACE_TRY(outcome_of(submission.wait));
  InlineRun* run = runs_.take();
  if (run == nullptr) {
    MILLRACE_TRY_ASSIGN(std::unique_ptr<InlineRun> made, make_run());
    run = made.release();
  }
  resolve(submission, *run);
  Status status;
  try {
    status = run_steps(submission, *run);
  } catch (const std::bad_alloc&) {
    runs_.give_back(run);
    throw;
  }
  runs_.give_back(run);
  return status;
}

Status InlineRecording::run_steps(const Submission& submission, InlineRun& run) const {
  const DefaultFloatEnvironment environment;
  std::size_t i = 0;
  const auto thrown = [&](std::string_view what) {
    return internal_error(fmt::format("submit: {}: its kernel threw an exception: {}; catch it there",
                                      describe_command(check_.list(), step_commands_[i]), what));
  };
  try {
    StepClock clock(submission.times);
    for (; i < steps_.size(); ++i) {
      if (submission.stop.stop_requested()) {
        return stopped_on_request("submit: " + describe_command(check_.list(), step_commands_[i]));
      }
      MILLRACE_TRY(run_step(i, submission, run));
      clock.end(step_commands_[i]);
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    return thrown(exception.what());
  } catch (...) {
    return thrown("not a std::exception");
  }
  return {};
}

Status InlineRecording::run_step(std::size_t number, const Submission& submission, InlineRun& run) const {
  const Step& step = steps_[number];
  if (const auto* dispatch = std::get_if<DispatchStep>(&step)) {
    return run_dispatch(*dispatch, step_commands_[number], submission, run);
  }
  if (const auto* fill = std::get_if<FillStep>(&step)) {
    const auto length = static_cast<std::size_t>(submission.sizes[index_of(fill->length)]);
    fill_memory(run.addresses[fill->destination], length, fill->pattern, fill->pattern_bytes);
    return {};
  }
  const auto& copy = std::get<CopyStep>(step);
  const auto length = static_cast<std::size_t>(submission.sizes[index_of(copy.length)]);
  // If nothing is copied, the addresses may be null.
  if (length > 0) std::memcpy(run.addresses[copy.destination], run.addresses[copy.source], length);
  return {};
}

void InlineRecording::resolve(const Submission& submission, InlineRun& run) const {
  for (std::size_t i = 0; i < run.bases.size(); ++i) run.bases[i] = host_address(submission.bindings[i]);
  const std::int64_t* sizes = submission.sizes.data();
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const auto offset = static_cast<std::uintptr_t>(sizes[index_of(ranges_[i].offset_bytes)]);
    run.addresses[i] = reinterpret_cast<void*>(run.bases[index_of(ranges_[i].binding)] + offset);
  }
  for (std::size_t i = 0; i < size_sources_.size(); ++i) {
    run.size_arguments[i] = submission.sizes[index_of(size_sources_[i])];
  }
}

Status InlineRecording::run_dispatch(const DispatchStep& dispatch, std::size_t command, const Submission& submission,
                                     InlineRun& run) const {
  const KernelArgs args{.status = &run.status_word,
                        .workgroup_memory = run.workgroup_block(0),
                        .buffers = run.addresses.data() + dispatch.first_buffer,
                        .sizes = run.size_arguments.data() + dispatch.first_size};
  run.status_word = 0;
  const Status status =
      run_groups({.kernel = dispatch.kernel,
                  .args = args,
                  .run = run,
                  .num_groups = static_cast<std::uint32_t>(submission.sizes[index_of(dispatch.num_groups)]),
                  .buffers = std::span(ranges_).subspan(dispatch.first_buffer, dispatch.num_buffers),
                  .sizes = submission.sizes,
                  .command = command,
                  .stop = submission.stop});
  if (status.ok() && run.status_word == 0) return {};
  const std::string& name = info(dispatch).name;
  if (!status.ok()) return Status(status.code(), fmt::format("kernel '{}': {}", name, status.message()));
  Status failed = kernel_status(name, run.status_word);
  if (submission.explainer == nullptr) return failed;
  return submission.explainer->explain({command, dispatch.kernel, run.status_word}, std::move(failed));
}

}  // namespace millrace
