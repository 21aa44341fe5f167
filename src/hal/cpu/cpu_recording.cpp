// SPDX-License-Identifier: Apache-2.0
// Runs recorded commands on a CPU: decides per stage whether to share it among threads, and shares it.
#include "hal/cpu/cpu_recording.h"

#include <algorithm>
#include <chrono>
#include <xmmintrin.h>

#include <fmt/format.h>

#include "hal/device_errors.h"
#include "hal/host/float_environment.h"

namespace millrace {
namespace {

/// While this object lives, marks its thread as working on its share of a stage. Work that a kernel submits meanwhile
/// runs on this thread only, because the other threads are already busy.
class InsideShare {
 public:
  InsideShare() : was_any_(is_any_) { is_any_ = true; }
  InsideShare(const InsideShare&) = delete;
  InsideShare& operator=(const InsideShare&) = delete;
  ~InsideShare() { is_any_ = was_any_; }
  static bool is_any() { return is_any_; }

 private:
  bool was_any_;
  static thread_local bool is_any_;
};
thread_local bool InsideShare::is_any_ = false;

class Stopwatch {
 public:
  double ns() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// 1 / kMeasuredPart of a step's groups run first if their cost is to be measured.
constexpr std::uint32_t kMeasuredPart = 16;

}  // namespace

CpuRecording::CpuRecording(const CommandList& list, std::shared_ptr<const CpuExecutable> executable,
                           const Device& device, const CpuDeviceOptions& options)
    : InlineRecording(list, executable, device, options.executor == nullptr ? 1 : options.executor->concurrency(),
                      options.stream_from_bytes),
      executable_(std::move(executable)),
      options_(options),
      costs_(options.executor == nullptr ? nullptr : std::make_unique<DispatchCost[]>(list.commands.size())) {}

Result<std::shared_ptr<CpuRecording>> CpuRecording::create(const CommandList& list,
                                                           std::shared_ptr<const CpuExecutable> executable,
                                                           const Device& device, const CpuDeviceOptions& options) {
  std::shared_ptr<CpuRecording> recording(new CpuRecording(list, std::move(executable), device, options));
  MILLRACE_TRY(recording->prepare());
  return recording;
}

Status CpuRecording::run_stage(Stage stage, Replay& replay) const {
  const bool is_one_group = stage.end - stage.first == 1 && num_groups(stage.first, replay.submission) <= 1;
  if (replay.run.plan == nullptr || is_one_group || InsideShare::is_any() || is_known_small(stage, replay)) {
    return InlineRecording::run_stage(stage, replay);
  }
  replay.step = stage.first;
  if (replay.submission.stop.stop_requested()) return stopped_before(stage.first);
  StagePlan& plan = *replay.run.plan;
  const bool measures = make_plan(stage, replay);
  if (plan.parts().empty()) return {};
  std::uint32_t workers = num_workers(replay.run);
  WorkFailure failure;
  InlineWorker caller;
  if (workers == 1 && measures) {
    measure_some(caller, replay, failure);
    workers = num_workers(replay.run);
  }
  if (workers > 1) return share(workers, replay, failure);
  for (StagePart& part : plan.parts()) run_part_groups(part, part.groups, caller, replay, failure);
  return first_failure(replay, failure);
}

/// Whether the stage is one step that is known to be too small to share: making a plan for it would take longer than
/// the rest of the submission.
bool CpuRecording::is_known_small(Stage stage, const Replay& replay) const {
  if (stage.end - stage.first > 1 || options_.shares_small_work) return false;
  return costs_[stage.first].is_known_small(num_groups(stage.first, replay.submission),
                                            num_bytes(stage.first, replay.submission));
}

Status CpuRecording::run_kernel_groups(const InlineDispatch& dispatch) const {
  const LoadedKernel& kernel = executable_->kernel(dispatch.kernel);
  const std::uint32_t max_count = dispatch.stop.stop_possible() ? 1 : options_.max_groups_per_call;
  GroupRange groups = dispatch.groups;
  while (groups.size() > 0) {
    if (dispatch.stop.stop_requested()) return cancelled(std::string(kStoppedOnRequest));
    const std::uint32_t end = groups.first + std::min(groups.size(), max_count);
    MILLRACE_TRY(kernel.run(dispatch.args, groups.first, end));
    groups.first = end;
  }
  if (dispatch.args.streams != 0) _mm_sfence();  // other threads may read the results next
  return {};
}

/// Plans the stage. Returns whether some of its steps should be measured.
bool CpuRecording::make_plan(Stage stage, const Replay& replay) const {
  bool measures = false;
  StagePlan& plan = *replay.run.plan;
  plan.clear();
  for (std::uint32_t step = stage.first; step < stage.end; ++step) {
    StagePart part{.step = step, .groups = {0, num_groups(step, replay.submission)}};
    if (part.groups.size() == 0) continue;
    if (!options_.shares_small_work) {
      const std::uint64_t bytes = num_bytes(step, replay.submission);
      part.is_measured = costs_[step].begin_run(bytes);
      part.ns_per_group = costs_[step].ns_per_group(part.groups.size(), bytes);
      measures |= part.is_measured;
    }
    plan.add(part);
  }
  return measures;
}

std::uint32_t CpuRecording::num_workers(const InlineRun& run) const {
  const std::uint32_t max_workers = run.shares->max_workers();
  const std::uint64_t num_groups = run.plan->num_groups();
  if (options_.shares_small_work)
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(num_groups, 1, max_workers));
  const Executor& executor = *options_.executor;
  return DispatchCost::num_workers(run.plan->ns(), num_groups, max_workers, executor.num_awake(), executor.wake_ns());
}

/// Runs and measures the first groups of each step that should be measured.
void CpuRecording::measure_some(InlineWorker& caller, Replay& replay, WorkFailure& failure) const {
  for (StagePart& part : replay.run.plan->parts()) {
    if (!part.is_measured) continue;
    const std::uint32_t size = part.groups.size(), some = (size + kMeasuredPart - 1) / kMeasuredPart;
    const GroupRange first{part.groups.first, part.groups.first + some};
    const Stopwatch watch;
    if (run_part_groups(part, first, caller, replay, failure)) costs_[part.step].measured(watch.ns(), some);
    part.groups.first = first.end;
    part.ns_per_group = costs_[part.step].ns_per_group(size, 0);
  }
}

Status CpuRecording::share(std::uint32_t num_workers, Replay& replay, WorkFailure& failure) const {
  WorkShares& shares = *replay.run.shares;
  const std::span<const std::uint32_t> ends = replay.run.plan->cut(num_workers);
  shares.begin(ends, replay.run.plan->max_units());
  const auto run_shares = [&](std::size_t begin, std::size_t end) {
    const InsideShare inside;
    const DefaultFloatEnvironment environment;
    for (std::size_t worker = begin; worker < end; ++worker) {
      run_worker_share(static_cast<std::uint32_t>(worker), replay, failure);
    }
  };
  options_.executor->parallel_for(num_workers, 1, run_shares);
  MILLRACE_TRY(first_failure(replay, failure));
  std::optional<UnitRange> left_out = shares.next(0);
  if (!left_out) return {};
  return failed_precondition(
      fmt::format("submit: {}: the executor left out work; let parallel_for() call the body for each index",
                  describe_step(replay.run.plan->next_piece(*left_out).part.step)));
}

void CpuRecording::run_worker_share(std::uint32_t number, const Replay& replay, WorkFailure& failure) const {
  InlineWorker worker{.number = number};
  struct {
    std::uint32_t step = 0, num_groups = 0;
    double ns = 0;
  } seen;
  const auto note_seen = [&] {
    if (seen.num_groups > 0) costs_[seen.step].measured(seen.ns, seen.num_groups);
  };
  const auto run_piece = [&](const StagePiece& piece) {
    auto& [part, groups] = piece;
    if (!part.is_measured) {
      run_part_groups(part, groups, worker, replay, failure);
      return;
    }
    if (part.step != seen.step) {
      note_seen();
      seen = {.step = part.step};
    }
    const Stopwatch watch;
    if (!run_part_groups(part, groups, worker, replay, failure)) return;
    seen.ns += watch.ns();
    seen.num_groups += groups.size();
  };
  while (std::optional<UnitRange> units = replay.run.shares->next(number)) {
    while (units->first < units->end) run_piece(replay.run.plan->next_piece(*units));
  }
  note_seen();
}

bool CpuRecording::run_part_groups(StagePart& part, GroupRange groups, InlineWorker& worker, const Replay& replay,
                                   WorkFailure& failure) const {
  const std::uint64_t place = std::uint64_t{part.step} << 32 | groups.first;
  if (groups.size() == 0 || failure.is_before(place)) return false;
  try {
    Status status = run_step_groups(part.step, groups, worker, part.status_word, replay);
    if (!status.ok()) failure.note(place, std::move(status));
  } catch (...) {
    failure.note(place, std::current_exception());
  }
  return true;
}

/// The failure that comes first in the list's order, even if another one happened earlier.
Status CpuRecording::first_failure(Replay& replay, WorkFailure& failure) const {
  const std::uint64_t failed = failure.first() >> 32;
  for (const StagePart& part : replay.run.plan->parts()) {
    replay.step = part.step;
    if (part.step == failed) return failure.take();
    if (part.status_word != 0) return reported(part.step, part.status_word, replay);
  }
  return {};
}

}  // namespace millrace
