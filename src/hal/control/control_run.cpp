// SPDX-License-Identifier: Apache-2.0
// Runs a list with loops and conditions on a device that works asynchronously. Parts are submitted one after another
// until the host must know a condition. Then the run sleeps, and continues on the thread that signals that the
// condition is known.
#include <chrono>
#include <optional>

#include "base/guard_allocations.h"
#include "hal/control/control_gate.h"
#include "hal/control/control_recording.h"
#include "hal/device_errors.h"
#include "hal/timepoints.h"

namespace millrace {

class ControlRecording::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(std::shared_ptr<const ControlRecording> recording, Device& device, const Submission& submission)
      : recording_(std::move(recording)),
        device_(device),
        gate_(device.control_gate_),
        bindings_(submission.bindings.begin(), submission.bindings.end()),
        sizes_(submission.sizes.begin(), submission.sizes.end()),
        wait_(submission.wait.begin(), submission.wait.end()),
        signal_(submission.signal.begin(), submission.signal.end()),
        explainer_(submission.explainer),
        times_(submission.times),
        stop_(submission.stop) {
    read_bindings_ = bindings_;
    read_bindings_.push_back({.data = &condition_, .size_bytes = 1});
    read_sizes_ = sizes_;
    read_sizes_.insert(read_sizes_.end(), {0, 1});
    blocks_.push_back({&recording_->steps_});
    if (times_ != nullptr) times_->commands.clear();
  }

  /// Continues until the host has to wait, or everything is submitted. Only one thread at a time runs this function.
  /// Semaphores call advance() and end(), so neither may throw.
  void advance() {
    if (!gate_->enter()) return end(cancelled("submit: the device was closed"));
    Status status = guard_allocations([&] { return go_on(); });
    gate_->leave();
    // From here on, a thread that waits for the end may close the device.
    if (status.ok()) status = guard_allocations([&] { return sleep(); });
    if (!status.ok()) end(std::move(status));
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Block {
    const ControlSteps* steps;
    std::size_t next = 0;
    const Decision* loop = nullptr;  // set if this is a loop's body; its condition is read again after the steps
  };

  Status go_on() {
    while (!is_all_submitted_) {
      if (needs_host_) {
        if (!is_reached(last_)) return {};
        MILLRACE_TRY(last_.semaphore->query().status());
        pending_.clear();  // the last part has ended, and each part has waited for the previous one
        needs_host_ = false;
        note_part();
      }
      if (asked_ != nullptr) {
        decide();
        continue;
      }
      Block& block = blocks_.back();
      if (block.next < block.steps->size()) {
        MILLRACE_TRY(submit_next((*block.steps)[block.next++]));
      } else if (block.loop != nullptr) {
        const Decision& loop = *block.loop;
        blocks_.pop_back();
        MILLRACE_TRY(ask(loop));
      } else if (blocks_.size() > 1) {
        blocks_.pop_back();
        note_decision_end();
      } else {
        is_all_submitted_ = true;
      }
    }
    return {};
  }

  Status submit_next(const ControlStep& step) {
    const auto* part = std::get_if<StraightPart>(&step.what);
    if (part == nullptr) {
      const Decision& decision = *std::get<std::unique_ptr<Decision>>(step.what);
      note_decision_begin(decision);
      return ask(decision);
    }
    is_part_measured_ = is_measured();
    part_begin_ns_ = is_part_measured_ ? now() : 0;
    needs_host_ = times_ != nullptr;
    return submit(*part->recording, {.bindings = bindings_,
                                     .sizes = sizes_,
                                     .explainer = explainer_,
                                     .times = is_part_measured_ ? &part_times_ : nullptr});
  }

  Status ask(const Decision& decision) {
    if (stop_.stop_requested()) return recording_->stopped_at(decision);
    asked_ = &decision;
    needs_host_ = true;
    return submit(*decision.read, {.bindings = read_bindings_, .sizes = read_sizes_});
  }

  void decide() {
    const Decision& decision = *asked_;
    asked_ = nullptr;
    if (condition_ != 0) {
      blocks_.push_back({&decision.if_true, 0, decision.is_loop ? &decision : nullptr});
    } else {
      blocks_.push_back({&decision.if_false});
    }
  }

  /// Each part has its own timeline, so that a refused part does not fail the parts that are already under way.
  Status submit(Recording& recording, Submission submission) {
    Timepoint end{.value = 1};
    MILLRACE_TRY_ASSIGN(end.semaphore, device_.create_semaphore());
    const std::span<const Timepoint> last(&last_, 1);
    submission.wait = last_.semaphore == nullptr ? std::span<const Timepoint>(wait_) : last;
    submission.signal = {&end, 1};
    submission.stop = stop_;
    pending_.push_back(end);
    if (Status status = submit_part(device_, recording, submission); !status.ok()) {
      pending_.pop_back();
      return status;
    }
    last_ = std::move(end);
    return {};
  }

  static bool is_reached(const Timepoint& timepoint) {
    const Result<std::uint64_t> value = timepoint.semaphore->query();
    return !value.ok() || *value >= timepoint.value;
  }

  /// Sleeps until the part that was submitted last has ended.
  Status sleep() {
    last_.semaphore->on_reached(last_.value, [self = shared_from_this()](const Status& status) {
      if (self->is_all_submitted_) return self->end(status);
      self->advance();
    });
    return {};
  }

  /// Settles the run once no part uses the bindings any more: a stop ends a waiting part at once, while the part before
  /// it may still be at work.
  void end(Status status) {
    while (!pending_.empty() && is_reached(pending_.back())) pending_.pop_back();
    if (pending_.empty()) return settle_all(status);
    const Timepoint part = pending_.back();
    const Status enqueued = guard_allocations([&]() -> Status {
      part.semaphore->on_reached(part.value, [self = shared_from_this(), status](const Status&) { self->end(status); });
      return {};
    });
    if (enqueued.ok()) return;
    for (const Timepoint& each : pending_) (void)each.wait();
    settle_all(status);
  }

  /// A semaphore may keep a callback, and so this object, for long after the end. Everything else is released here.
  void settle_all(const Status& status) {
    (void)settle(signal_, status);
    signal_.clear();
    wait_.clear();
    pending_.clear();
    last_ = {};
  }

  std::uint64_t now() {
    if (!begin_) begin_ = Clock::now();
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - *begin_).count());
  }
  void note_part() {
    if (!is_part_measured_) return;
    for (const CommandTime& time : part_times_.commands) {
      times_->commands.push_back({time.command, part_begin_ns_ + time.begin_ns, part_begin_ns_ + time.end_ns});
    }
    is_part_measured_ = false;
  }
  /// Whether the commands of the innermost block are measured.
  bool is_measured() const { return times_ != nullptr && (times_->has_blocks || blocks_.size() == 1); }
  void note_decision_begin(const Decision& decision) {
    if (!is_measured()) return;
    open_decisions_.push_back(times_->commands.size());
    times_->commands.push_back({decision.command, now(), 0});
  }
  void note_decision_end() {
    if (!is_measured()) return;
    times_->commands[open_decisions_.back()].end_ns = now();
    open_decisions_.pop_back();
  }

  std::shared_ptr<const ControlRecording> recording_;
  Device& device_;  // used only between enter() and leave() of the gate
  std::shared_ptr<ControlGate> gate_;
  std::vector<BufferBinding> bindings_, read_bindings_;
  std::vector<std::int64_t> sizes_, read_sizes_;
  std::vector<Timepoint> wait_, signal_;
  FailureExplainer* explainer_;
  SubmissionTimes* times_;
  std::stop_token stop_;

  std::vector<Block> blocks_;       // the blocks around the current position
  Timepoint last_ = {};             // the end of what was submitted last
  std::vector<Timepoint> pending_;  // the ends of the parts submitted since the host last read a condition
  bool is_all_submitted_ = false;
  bool needs_host_ = false;          // the run cannot continue before `last_` is reached
  const Decision* asked_ = nullptr;  // the decision whose condition is being read
  unsigned char condition_ = 0;
  bool is_part_measured_ = false;  // whether the part submitted last is measured
  SubmissionTimes part_times_;
  std::uint64_t part_begin_ns_ = 0;
  std::vector<std::size_t> open_decisions_;  // indices in times_->commands of decisions that have not ended
  std::optional<Clock::time_point> begin_;
};

Status ControlRecording::start(Device& device, const Submission& submission) const {
  auto run =
      std::make_shared<Run>(std::static_pointer_cast<const ControlRecording>(shared_from_this()), device, submission);
  run->advance();
  return {};
}

}  // namespace millrace
