// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "hal/checks/submission.h"
#include "millrace/hal/buffer.h"
#include "millrace/hal/device.h"

namespace millrace {

/// A command list flattened for the calling thread: each replay writes addresses and sizes into arrays that are
/// already there, then walks the steps. Barriers are gone, since steps run one after another. Devices that finish
/// inline derive from it, and say how a kernel runs.
class InlineRecording : public Recording {
 public:
  /// Checks, waits and runs; signals nothing. Fails when another submission of this recording is under way.
  Status submit(const Submission&);

 protected:
  /// A dispatch of this replay.
  struct InlineDispatch {
    KernelIndex kernel;
    const KernelArgs& args;
    std::uint32_t num_groups;
    std::span<const BufferRange> buffers;
    std::span<const std::int64_t> sizes;  // as CommandList::sizes
  };

  /// `prepare` comes before anything else. Precondition: check_record(list, executable) is ok.
  InlineRecording(const CommandList& list, std::shared_ptr<const Executable> executable)
      : check_(list), executable_(std::move(executable)) {}
  /// Allocates all that replays need.
  Status prepare();

 private:
  struct FillStep {
    std::uint32_t destination;  // in addresses_
    SizeIndex length;
    std::uint64_t pattern;
    std::uint32_t pattern_bytes;
  };
  struct CopyStep {
    std::uint32_t source;  // in addresses_
    std::uint32_t destination;
    SizeIndex length;
  };
  struct DispatchStep {
    KernelIndex kernel;
    SizeIndex num_groups;
    std::uint32_t first_buffer;  // in addresses_
    KernelArgs args;             // points into addresses_ and size_arguments_, which never move again
  };
  using Step = std::variant<FillStep, CopyStep, DispatchStep>;

  /// Its status does not name the kernel.
  virtual Status run_groups(const InlineDispatch&) = 0;

  const KernelInfo& info(const DispatchStep& dispatch) const { return executable_->info(dispatch.kernel); }
  std::uint32_t add_address(const BufferRange&);
  void add_step(const FillCommand&);
  void add_step(const CopyCommand&);
  void add_step(const DispatchCommand&);
  void add_step(const BarrierCommand&) {}
  void point_arguments();
  Status allocate_workgroup_memory();

  void resolve(const Submission&);
  Status run(const Submission&);
  Status run_step(std::size_t number, const Submission&);
  void run_fill(const FillStep&, const Submission&) const;
  void run_copy(const CopyStep&, const Submission&) const;
  Status run_dispatch(const DispatchStep&, std::size_t command, const Submission&);

  SubmissionCheck check_;
  std::shared_ptr<const Executable> executable_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> step_commands_;  // which command each step is
  std::vector<BufferRange> ranges_;           // where each address comes from
  std::vector<void*> addresses_;              // of this replay
  std::vector<SizeIndex> size_sources_;       // where each size argument comes from
  std::vector<std::int64_t> size_arguments_;  // of this replay
  std::shared_ptr<Buffer> workgroup_memory_;  // null when no kernel of the list has any
  std::uint32_t status_word_ = 0;
  std::atomic<bool> is_running_ = false;
};

}  // namespace millrace
