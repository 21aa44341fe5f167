// SPDX-License-Identifier: Apache-2.0
// Runs a list with loops and conditions on a device that finishes each part before submit() returns.
#include <chrono>

#include "hal/control/control_recording.h"
#include "hal/host/host_buffer.h"

namespace millrace {

class ControlRecording::InlineRun {
 public:
  InlineRun(const ControlRecording& recording, Device& device, const Submission& submission)
      : recording_(recording), device_(device), submission_(submission) {
    if (submission.times == nullptr) return;
    submission.times->commands.clear();
    begin_ = Clock::now();
  }

  Status run(const ControlSteps& steps, SubmissionTimes* times) {
    for (const ControlStep& step : steps) {
      if (const auto* part = std::get_if<StraightPart>(&step.what)) {
        MILLRACE_TRY(run_part(*part, times));
        continue;
      }
      const Decision& decision = *std::get<std::unique_ptr<Decision>>(step.what);
      if (times == nullptr) {
        MILLRACE_TRY(run_decision(decision, nullptr));
        continue;
      }
      const std::size_t entry = times->commands.size();
      times->commands.push_back({decision.command, now(), 0});
      MILLRACE_TRY(run_decision(decision, times->has_blocks ? times : nullptr));
      times->commands[entry].end_ns = now();
    }
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::uint64_t now() const {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - begin_).count());
  }

  Status run_part(const StraightPart& part, SubmissionTimes* times) {
    SubmissionTimes of_part;
    const std::uint64_t begin = times != nullptr ? now() : 0;
    MILLRACE_TRY(submit_part(device_, *part.recording,
                             {.bindings = submission_.bindings,
                              .sizes = submission_.sizes,
                              .explainer = submission_.explainer,
                              .times = times != nullptr ? &of_part : nullptr,
                              .stop = submission_.stop}));
    for (const CommandTime& time : of_part.commands) {
      times->commands.push_back({time.command, begin + time.begin_ns, begin + time.end_ns});
    }
    return {};
  }

  Status run_decision(const Decision& decision, SubmissionTimes* times) {
    do {
      if (submission_.stop.stop_requested()) return recording_.stopped_at(decision);
      if (!is_true(decision.condition)) return run(decision.if_false, times);
      MILLRACE_TRY(run(decision.if_true, times));
    } while (decision.is_loop);
    return {};
  }

  bool is_true(const BufferRange& condition) const {
    const auto offset = static_cast<std::uintptr_t>(submission_.sizes[index_of(condition.offset_bytes)]);
    const std::uintptr_t base = host_address(submission_.bindings[index_of(condition.binding)]);
    return *reinterpret_cast<const unsigned char*>(base + offset) != 0;
  }

  const ControlRecording& recording_;
  Device& device_;
  const Submission& submission_;
  Clock::time_point begin_;
};

Status ControlRecording::run_inline(Device& device, const Submission& submission) const {
  return InlineRun(*this, device, submission).run(steps_, submission.times);
}

}  // namespace millrace
