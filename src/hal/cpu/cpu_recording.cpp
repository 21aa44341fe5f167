// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/cpu_recording.h"

#include <algorithm>
#include <chrono>

#include "hal/device_errors.h"
#include "hal/host/float_environment.h"

namespace millrace {
namespace {

/// Marks this thread as one that runs a share while it lives. What a kernel then submits runs on this thread: the other
/// threads are at work already.
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

/// How many groups run first where the cost of one is not known, to learn it.
constexpr std::uint32_t kMeasuredPart = 16;

}  // namespace

CpuRecording::CpuRecording(const CommandList& list, std::shared_ptr<const CpuExecutable> executable,
                           const Device& device, const CpuDeviceOptions& options)
    : InlineRecording(list, executable, device, options.executor == nullptr ? 1 : options.executor->concurrency()),
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

Status CpuRecording::run_groups(const InlineDispatch& dispatch) const {
  const bool is_shareable = dispatch.run.shares != nullptr && dispatch.num_groups >= 2 && !InsideShare::is_any();
  if (!is_shareable) return run_range(dispatch, dispatch.args, {0, dispatch.num_groups});
  if (!options_.shares_small_work) return run_measured(dispatch);
  return share(dispatch, {0, dispatch.num_groups}, std::min(dispatch.num_groups, dispatch.run.shares->most_workers()),
               nullptr);
}

Status CpuRecording::run_range(const InlineDispatch& dispatch, const KernelArgs& args, GroupRange groups) const {
  const LoadedKernel& kernel = executable_->kernel(dispatch.kernel);
  const std::uint32_t most = dispatch.stop.stop_possible() ? 1 : options_.max_groups_per_call;
  while (groups.size() > 0) {
    if (dispatch.stop.stop_requested()) return cancelled(std::string(kStoppedOnRequest));
    const std::uint32_t end = groups.first + std::min(groups.size(), most);
    MILLRACE_TRY(kernel.run(args, groups.first, end));
    groups.first = end;
  }
  return {};
}

/// Shares the groups if they are worth it, by what is known of their cost; measures it where it is due.
Status CpuRecording::run_measured(const InlineDispatch& dispatch) const {
  std::uint64_t bytes = 0;
  for (const BufferRange& range : dispatch.buffers) {
    bytes += static_cast<std::uint64_t>(dispatch.sizes[index_of(range.length_bytes)]);
  }
  DispatchCost& cost = costs_[dispatch.command];
  const bool measures = cost.begin_run(bytes);
  const auto num_workers = [&](std::uint32_t num_groups) {
    return cost.num_workers(num_groups, bytes, dispatch.run.shares->most_workers(), options_.executor->num_awake());
  };
  GroupRange rest{0, dispatch.num_groups};
  std::uint32_t workers = num_workers(rest.size());
  if (workers == 1 && measures) {
    const GroupRange some{0, (rest.size() + kMeasuredPart - 1) / kMeasuredPart};
    const Stopwatch watch;
    MILLRACE_TRY(run_range(dispatch, dispatch.args, some));
    cost.measured(watch.ns(), some.size());
    rest.first = some.end;
    workers = num_workers(rest.size());
  }
  if (workers == 1) return run_range(dispatch, dispatch.args, rest);
  return share(dispatch, rest, workers, measures ? &cost : nullptr);
}

Status CpuRecording::share(const InlineDispatch& dispatch, GroupRange groups, std::uint32_t num_workers,
                           DispatchCost* measure) const {
  GroupShares& shares = *dispatch.run.shares;
  shares.begin(groups, num_workers);
  GroupFailure failure;
  const auto run_shares = [&](std::size_t begin, std::size_t end) {
    const InsideShare inside;
    const DefaultFloatEnvironment environment;
    for (std::size_t worker = begin; worker < end; ++worker) {
      const Stopwatch watch;
      const std::uint32_t num_groups = run_share(dispatch, static_cast<std::uint32_t>(worker), failure);
      if (worker == 0 && measure != nullptr && num_groups > 0) measure->measured(watch.ns(), num_groups);
    }
  };
  options_.executor->parallel_for(num_workers, 1, run_shares);
  MILLRACE_TRY(failure.take());
  if (!shares.next(0)) return {};
  return failed_precondition("the executor has left out work; let parallel_for() call the body for each index");
}

/// Runs chunks until none is left, in the worker's own workgroup memory. Returns how many groups that were.
std::uint32_t CpuRecording::run_share(const InlineDispatch& dispatch, std::uint32_t worker,
                                      GroupFailure& failure) const {
  KernelArgs args = dispatch.args;
  args.workgroup_memory = dispatch.run.workgroup_block(worker);
  std::uint32_t num_groups = 0;
  while (const std::optional<GroupRange> chunk = dispatch.run.shares->next(worker)) {
    if (failure.is_before(chunk->first)) continue;
    num_groups += chunk->size();
    try {
      Status status = run_range(dispatch, args, *chunk);
      if (!status.ok()) failure.note(chunk->first, std::move(status));
    } catch (...) {
      failure.note(chunk->first, std::current_exception());
    }
  }
  return num_groups;
}

}  // namespace millrace
