// SPDX-License-Identifier: Apache-2.0
// Replays command lists on devices that finish inline: resolves addresses and runs the steps.
#include "hal/host/inline_recording.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "hal/command_text.h"
#include "hal/device_errors.h"
#include "hal/host/fill.h"
#include "hal/host/float_environment.h"
#include "hal/host/host_buffer.h"
#include "hal/host/memory_pages.h"
#include "hal/timepoints.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// Records when each step of a submission ends. The next step begins at that time.
class StepClock {
 public:
  explicit StepClock(SubmissionTimes& times) : times_(times) { times.commands.clear(); }
  void end(CommandId command) {
    const auto now = static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - begin_).count());
    times_.commands.push_back({command, last_ns_, now});
    last_ns_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  SubmissionTimes& times_;
  Clock::time_point begin_ = Clock::now();
  std::uint64_t last_ns_ = 0;
};

/// The size of the blocks into which fills and copies are divided: a multiple of the size of every pattern.
constexpr std::int64_t kBlockBytes = 64 * 1024;

std::uint32_t num_blocks(std::int64_t length) {
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>((length + kBlockBytes - 1) / kBlockBytes, std::numeric_limits<std::uint32_t>::max()));
}

struct ByteRange {
  std::size_t first, size;
};
ByteRange bytes_of(GroupRange blocks, std::int64_t length) {
  const std::int64_t first = blocks.first * kBlockBytes;
  const std::int64_t end = blocks.end == num_blocks(length) ? length : blocks.end * kBlockBytes;
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(end - first)};
}

}  // namespace

Status InlineRecording::prepare() {
  visit_commands(check_.list(), [this](CommandId id, const Command& command) {
    std::visit([this](const auto& specific) { add_step(specific); }, command);
    if (step_commands_.size() < steps_.size()) step_commands_.push_back(id);
  });
  add_stage();
  MILLRACE_TRY_ASSIGN(std::unique_ptr<InlineRun> run, make_run());
  runs_.set_first(std::move(run));
  return {};
}

void InlineRecording::add_stage() {
  const std::uint32_t first = stages_.empty() ? 0 : stages_.back().end;
  const auto end = static_cast<std::uint32_t>(steps_.size());
  if (first < end) stages_.push_back({first, end});
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
  DispatchStep step{.kernel = dispatch.kernel,
                    .num_groups = dispatch.num_groups,
                    .first_buffer = static_cast<std::uint32_t>(ranges_.size()),
                    .num_buffers = static_cast<std::uint32_t>(dispatch.buffers.size()),
                    .first_size = static_cast<std::uint32_t>(size_sources_.size()),
                    .touched = &dispatch.touched,
                    .label = dispatch.label};
  for (const BufferRange& range : dispatch.buffers) add_address(range);
  step.may_stream = may_stream(step);
  size_sources_.insert(size_sources_.end(), dispatch.sizes.begin(), dispatch.sizes.end());
  steps_.push_back(step);
  const KernelInfo& kernel = info(step);
  if (kernel.workgroup_bytes > (largest_ == nullptr ? 0 : largest_->workgroup_bytes)) largest_ = &kernel;
}

bool InlineRecording::may_stream(const DispatchStep& dispatch) const {
  const std::vector<bool>& is_written = info(dispatch).buffer_is_written;
  std::int64_t most = 0;
  for (std::uint32_t i = 0; i < dispatch.num_buffers; ++i) {
    const SizeExpr& length = check_.list().sizes[ranges_[dispatch.first_buffer + i].length_bytes];
    if (is_written[i]) most = saturating::add(most, length.upper_bound());
  }
  return static_cast<std::uint64_t>(most) >= stream_from_bytes_;
}

bool InlineRecording::streams(const DispatchStep& dispatch, const Replay& replay) const {
  const std::vector<bool>& is_written = info(dispatch).buffer_is_written;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < dispatch.num_buffers; ++i) {
    const std::uint32_t buffer = dispatch.first_buffer + i;
    if (!is_written[i]) continue;
    if (reinterpret_cast<std::uintptr_t>(replay.run.addresses[buffer]) % Buffer::kAlignment != 0) return false;
    bytes += static_cast<std::uint64_t>(replay.submission.sizes[index_of(ranges_[buffer].length_bytes)]);
  }
  return bytes >= stream_from_bytes_;
}

/// A worker's block of workgroup memory serves all dispatches, because a worker runs one dispatch at a time.
Result<std::unique_ptr<InlineRun>> InlineRecording::make_run() const {
  auto run = std::make_unique<InlineRun>();
  run->bases.resize(check_.list().bindings.size());
  run->addresses.resize(ranges_.size());
  run->size_arguments.resize(size_sources_.size());
  if (num_workers_ > 1) {
    std::uint32_t max_steps = 0;
    for (const Stage& stage : stages_) max_steps = std::max(max_steps, stage.end - stage.first);
    run->shares = std::make_unique<WorkShares>(num_workers_);
    run->plan = std::make_unique<StagePlan>(max_steps, num_workers_);
  }
  if (largest_ == nullptr) return run;
  // If rounding up or multiplying would overflow, asks for more bytes than any system has, so that the allocation
  // fails.
  constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::ptrdiff_t>::max();
  const std::uint64_t bytes = largest_->workgroup_bytes;
  // Large blocks are page-aligned, so that kernels know at which offsets pages begin, and can avoid stores that
  // straddle two pages. Such a store takes 25 cycles or more.
  const std::size_t alignment = bytes < kPageBytes ? Buffer::kAlignment : std::size_t{kPageBytes};
  if (num_workers_ > 1 && bytes < kMaxBytes / num_workers_ - alignment) {
    run->workgroup_stride = (bytes + alignment - 1) / alignment * alignment;
  }
  Result<std::shared_ptr<Buffer>> memory =
      allocate_host_buffer(run->workgroup_stride == 0 ? bytes : run->workgroup_stride * num_workers_, {}, alignment);
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
    status = run_list(submission, *run);
  } catch (const std::bad_alloc&) {
    runs_.give_back(run);
    throw;
  }
  runs_.give_back(run);
  return status;
}

Status InlineRecording::run_list(const Submission& submission, InlineRun& run) const {
  const DefaultFloatEnvironment environment;
  Replay replay{submission, run};
  const auto thrown = [&](std::string_view what) {
    return internal_error(fmt::format("submit: {}: its kernel threw an exception: {}; catch it in the kernel",
                                      describe_step(replay.step), what));
  };
  try {
    return run_all_stages(replay);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    return thrown(exception.what());
  } catch (...) {
    return thrown("not a std::exception");
  }
}

Status InlineRecording::run_all_stages(Replay& replay) const {
  if (replay.submission.times == nullptr) {
    if (num_workers_ == 1) return InlineRecording::run_stage({0, static_cast<std::uint32_t>(steps_.size())}, replay);
    for (const Stage stage : stages_) MILLRACE_TRY(run_stage(stage, replay));
    return {};
  }
  StepClock clock(*replay.submission.times);
  for (std::uint32_t step = 0; step < steps_.size(); ++step) {
    MILLRACE_TRY(run_stage({step, step + 1}, replay));
    clock.end(step_commands_[step]);
  }
  return {};
}

Status InlineRecording::run_stage(Stage stage, Replay& replay) const {
  InlineWorker worker;
  for (replay.step = stage.first; replay.step < stage.end; ++replay.step) {
    if (replay.submission.stop.stop_requested()) return stopped_before(replay.step);
    std::uint32_t& status_word = replay.run.status_word;
    status_word = 0;
    const GroupRange all{0, num_groups(replay.step, replay.submission)};
    MILLRACE_TRY(run_step_groups(replay.step, all, worker, status_word, replay));
    if (status_word != 0) return reported(replay.step, status_word, replay);
  }
  return {};
}

std::string InlineRecording::describe_step(std::uint32_t step) const {
  return describe_command(check_.list(), step_commands_[step]);
}

Status InlineRecording::stopped_before(std::uint32_t step) const {
  return stopped_on_request("submit: " + describe_step(step));
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

std::int64_t InlineRecording::length(std::uint32_t step, const Submission& submission) const {
  const auto* fill = std::get_if<FillStep>(&steps_[step]);
  const SizeIndex length = fill != nullptr ? fill->length : std::get<CopyStep>(steps_[step]).length;
  return submission.sizes[index_of(length)];
}

std::uint32_t InlineRecording::num_groups(std::uint32_t step, const Submission& submission) const {
  if (const auto* dispatch = std::get_if<DispatchStep>(&steps_[step])) {
    return static_cast<std::uint32_t>(submission.sizes[index_of(dispatch->num_groups)]);
  }
  return num_blocks(length(step, submission));
}

std::uint64_t InlineRecording::num_bytes(std::uint32_t step, const Submission& submission) const {
  std::uint64_t sum = 0;
  if (const auto* dispatch = std::get_if<DispatchStep>(&steps_[step])) {
    for (const BufferRange& range : std::span(ranges_).subspan(dispatch->first_buffer, dispatch->num_buffers)) {
      sum += static_cast<std::uint64_t>(submission.sizes[index_of(range.length_bytes)]);
    }
    return sum;
  }
  const auto bytes = static_cast<std::uint64_t>(length(step, submission));
  return std::holds_alternative<CopyStep>(steps_[step]) ? 2 * bytes : bytes;
}

Status InlineRecording::run_step_groups(std::uint32_t step, GroupRange groups, InlineWorker& worker,
                                        std::uint32_t& status_word, const Replay& replay) const {
  const Submission& submission = replay.submission;
  const InlineRun& run = replay.run;
  if (std::exchange(worker.last_step, std::int64_t{step}) != std::int64_t{step}) worker.state = {};
  if (const auto* dispatch = std::get_if<DispatchStep>(&steps_[step])) {
    const KernelArgs args{.status = &status_word,
                          .workgroup_memory = run.workgroup_block(worker.number),
                          .buffers = run.addresses.data() + dispatch->first_buffer,
                          .sizes = run.size_arguments.data() + dispatch->first_size,
                          .worker_state = worker.state.data(),
                          .streams = dispatch->may_stream && streams(*dispatch, replay) ? 1u : 0u};
    Status status =
        run_kernel_groups({.kernel = dispatch->kernel,
                           .args = args,
                           .groups = groups,
                           .buffers = std::span(ranges_).subspan(dispatch->first_buffer, dispatch->num_buffers),
                           .sizes = submission.sizes,
                           .touched = *dispatch->touched,
                           .label = dispatch->label,
                           .stop = submission.stop});
    if (status.ok()) return status;
    return Status(status.code(), fmt::format("kernel '{}': {}", kernel_text(*dispatch), status.message()));
  }
  if (submission.stop.stop_requested()) return stopped_before(step);
  const auto [first, size] = bytes_of(groups, length(step, submission));
  if (size == 0) return {};  // the addresses may be null then
  if (const auto* fill = std::get_if<FillStep>(&steps_[step])) {
    fill_memory(static_cast<std::byte*>(run.addresses[fill->destination]) + first, size, fill->pattern,
                fill->pattern_bytes);
    return {};
  }
  const auto& copy = std::get<CopyStep>(steps_[step]);
  std::memcpy(static_cast<std::byte*>(run.addresses[copy.destination]) + first,
              static_cast<const std::byte*>(run.addresses[copy.source]) + first, size);
  return {};
}

Status InlineRecording::reported(std::uint32_t step, std::uint32_t status_word, const Replay& replay) const {
  const auto& dispatch = std::get<DispatchStep>(steps_[step]);
  Status failed = kernel_status(kernel_text(dispatch), status_word);
  FailureExplainer* explainer = replay.submission.explainer;
  if (explainer == nullptr) return failed;
  return explainer->explain({step_commands_[step], dispatch.kernel, status_word}, std::move(failed));
}

}  // namespace millrace
