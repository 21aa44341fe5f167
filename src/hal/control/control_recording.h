// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "hal/checks/submission.h"
#include "millrace/hal/device.h"

namespace millrace {

struct ControlStep;
using ControlSteps = std::vector<ControlStep>;

/// Consecutive commands without control flow: the device runs them without a decision by the host.
struct StraightPart {
  std::shared_ptr<Recording> recording;  // its commands keep the ids that they have in the whole list
};

/// The byte that the host reads to decide what comes next.
struct Decision {
  CommandId command{};  // the loop or the condition
  BufferRange condition;
  std::shared_ptr<Recording> read;  // downloads the byte to an additional host binding
  bool is_loop = false;
  ControlSteps if_true, if_false;
};

struct ControlStep {
  std::variant<StraightPart, std::unique_ptr<Decision>> what;
};

/// A list that is split at its loops and conditions into lists without control flow, so that drivers need not support
/// control flow.
class ControlRecording final : public Recording {
 public:
  static Result<std::shared_ptr<Recording>> create(Device&, const CommandList&, std::shared_ptr<Executable>);

  ControlRecording(const Device& device, const CommandList& list, ControlSteps steps)
      : Recording(device.id(), /*has_control=*/true), check_(list, device), steps_(std::move(steps)) {}

  /// Ok if the submission is valid. Its waits need not be reached yet.
  Status check(const Submission&) const;
  /// Runs the submission on this thread, and signals nothing. Allocates only to measure times or to report a failure.
  /// Precondition: the device finishes inline, and the submission's waits are reached.
  Status run_inline(Device&, const Submission&) const;
  /// Submits the parts one after another, as the conditions become known, and settles the submission at the end. If it
  /// fails, it has submitted and settled nothing.
  Status start(Device&, const Submission&) const;

 private:
  class Cutter;
  class InlineRun;
  class Run;

  /// Calls a private function of the device, as its friend.
  static Status submit_part(Device& device, Recording& recording, const Submission& submission) {
    return device.submit_straight(recording, submission);
  }
  Status stopped_at(const Decision&) const;

  SubmissionCheck check_;  // checks submissions against the whole list
  ControlSteps steps_;
};

}  // namespace millrace
