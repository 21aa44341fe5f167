// SPDX-License-Identifier: Apache-2.0
// Splits a command list at its loops and conditions into parts that the driver of any device can run.
#include "hal/control/control_recording.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/checks/record.h"
#include "hal/command_text.h"
#include "hal/device_errors.h"
#include "hal/timepoints.h"

namespace millrace {

/// Splits blocks into steps, and records the parts.
class ControlRecording::Cutter {
 public:
  Cutter(Device& device, const CommandList& list, std::shared_ptr<Executable> executable)
      : device_(device), executable_(std::move(executable)), part_(list), id_(list.first_command) {
    part_.commands.clear();
    read_ = {.sizes = list.sizes, .bindings = list.bindings, .kernels = {}, .commands = {}};
    const SizeIndex zero = read_.sizes.push_back(0), one = read_.sizes.push_back(1);
    host_byte_ = {read_.bindings.push_back({"condition", BindingKind::kOutput, one, BindingPlace::kHost}), zero, one};
  }

  Result<ControlSteps> cut(const std::vector<Command>& commands) {
    ControlSteps steps;
    for (const Command& command : commands) {
      const auto* loop = std::get_if<LoopCommand>(&command);
      const auto* cond = std::get_if<CondCommand>(&command);
      if (loop == nullptr && cond == nullptr) {
        if (part_.commands.empty()) part_.first_command = id_;
        part_.commands.push_back(command);
        id_ = next_id(id_);
        continue;
      }
      MILLRACE_TRY(end_part(steps));
      auto decision = std::make_unique<Decision>();
      decision->command = id_;
      decision->condition = loop != nullptr ? loop->condition : cond->condition;
      decision->is_loop = loop != nullptr;
      read_.commands.assign(1, DownloadCommand{decision->condition, host_byte_});
      read_.first_command = id_;
      id_ = next_id(id_);
      MILLRACE_TRY_ASSIGN(decision->read, device_.record_straight(read_, nullptr));
      MILLRACE_TRY_ASSIGN(decision->if_true, cut((loop != nullptr ? loop->body : cond->if_true)->commands));
      if (cond != nullptr) {
        MILLRACE_TRY_ASSIGN(decision->if_false, cut(cond->if_false->commands));
      }
      steps.push_back({std::move(decision)});
    }
    MILLRACE_TRY(end_part(steps));
    return steps;
  }

 private:
  /// Ends the part that is being collected. Drops it if it contains only barriers.
  Status end_part(ControlSteps& steps) {
    const auto is_barrier = [](const Command& command) { return std::holds_alternative<BarrierCommand>(command); };
    if (!std::ranges::all_of(part_.commands, is_barrier)) {
      StraightPart part;
      MILLRACE_TRY_ASSIGN(part.recording, device_.record_straight(part_, executable_));
      steps.push_back({std::move(part)});
    }
    part_.commands.clear();
    return {};
  }

  Device& device_;
  std::shared_ptr<Executable> executable_;
  CommandList part_;  // the part that is being collected
  CommandList read_;
  BufferRange host_byte_;
  CommandId id_{};  // the id of the next command
};

Result<std::shared_ptr<Recording>> ControlRecording::create(Device& device, const CommandList& list,
                                                            std::shared_ptr<Executable> executable) {
  MILLRACE_TRY(check_record(list, executable.get()));
  MILLRACE_TRY_ASSIGN(ControlSteps steps, Cutter(device, list, std::move(executable)).cut(list.commands));
  return std::shared_ptr<Recording>(std::make_shared<ControlRecording>(device, list, std::move(steps)));
}

Status ControlRecording::check(const Submission& submission) const {
  MILLRACE_TRY(check_.check(submission));
  return check_timepoints(submission);
}

Status ControlRecording::stopped_at(const Decision& decision) const {
  return stopped_on_request("submit: " + describe_command(check_.list(), decision.command));
}

Result<std::shared_ptr<Recording>> Device::record(const CommandList& list, std::shared_ptr<Executable> executable) {
  const auto has_block = [](const Command& command) {
    return std::holds_alternative<LoopCommand>(command) || std::holds_alternative<CondCommand>(command);
  };
  return guard_allocations([&] {
    return std::ranges::any_of(list.commands, has_block) ? ControlRecording::create(*this, list, std::move(executable))
                                                         : record_straight(list, std::move(executable));
  });
}

Status Device::submit_control(Recording& recording, const Submission& submission) {
  const Status status = guard_allocations([&]() -> Status {
    if (recording.device() != id()) return foreign_recording(name());
    const auto& control = static_cast<const ControlRecording&>(recording);
    MILLRACE_TRY(control.check(submission));
    if (!info().is_synchronous || !are_settled(submission.wait)) return control.start(*this, submission);
    MILLRACE_TRY(outcome_of(submission.wait));
    MILLRACE_TRY(control.run_inline(*this, submission));
    return settle(submission.signal, {});
  });
  return status.ok() ? status : settle(submission.signal, status);
}

}  // namespace millrace
