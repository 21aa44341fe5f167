// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "hal/checks/submission.h"
#include "hal/host/inline_run.h"
#include "millrace/hal/device.h"

namespace millrace {

/// A command list prepared to run on the calling thread, and perhaps on others at the same time. Each replay writes
/// addresses and sizes into preallocated arrays, then runs the steps. With one worker, the steps run one after another
/// and need no barriers; with several, they run stage by stage. A stage is the steps between two barriers. Each device
/// that finishes inline derives its own class, which implements how a kernel runs.
class InlineRecording : public Recording {
 public:
  /// Ok if the submission is valid. Its waits need not be reached yet.
  Status check(const Submission&) const;
  /// Runs the submission now and signals nothing. Precondition: it passed check(), and its waits are reached. An
  /// exception from a kernel becomes the status, except std::bad_alloc, which is passed on.
  Status run(const Submission&) const;

 protected:
  /// A range of groups of a dispatch, in one replay.
  struct InlineDispatch {
    KernelIndex kernel;
    const KernelArgs& args;  // with the worker's workgroup memory
    GroupRange groups;
    std::span<const BufferRange> buffers;
    std::span<const std::int64_t> sizes;       // the values of CommandList::sizes
    const std::vector<TouchedRange>& touched;  // DispatchCommand::touched
    std::string_view label;                    // DispatchCommand::label
    const std::stop_token& stop;
  };
  /// Steps [first, end). A step is a command other than a barrier.
  struct Stage {
    std::uint32_t first = 0, end = 0;
  };
  /// One of the workers that run groups of a replay, each in its own workgroup memory.
  struct InlineWorker {
    std::uint32_t number = 0;
    std::int64_t last_step = -1;  // the step whose groups it ran last
    /// KernelArgs::worker_state; zeroed when the worker switches to another step.
    alignas(16) std::array<std::byte, KernelArgs::kWorkerStateBytes> state{};
  };
  struct Replay {
    const Submission& submission;
    InlineRun& run;
    std::uint32_t step = 0;  // the step that runs, or that failed
  };

  static constexpr std::uint64_t kNeverStreams = std::numeric_limits<std::uint64_t>::max();
  /// Call prepare() before anything else. Precondition: check_record(list, executable) is ok. Up to `num_workers`
  /// workers, each with workgroup memory of its own, run the steps of a stage at the same time. A dispatch that writes
  /// at least `stream_from_bytes`, to aligned addresses, has KernelArgs::streams set.
  InlineRecording(const CommandList& list, std::shared_ptr<const Executable> executable, const Device& device,
                  std::uint32_t num_workers = 1, std::uint64_t stream_from_bytes = kNeverStreams)
      : Recording(device.id()),
        check_(list, device),
        executable_(std::move(executable)),
        num_workers_(num_workers),
        stream_from_bytes_(stream_from_bytes) {}
  /// Allocates everything that the first replay needs.
  Status prepare();

  /// Runs the steps of one stage, here one after another on this thread. An exception of a kernel is passed on;
  /// Replay::step is then the kernel's step.
  virtual Status run_stage(Stage, Replay&) const;
  /// The number of groups of a step: the groups of a dispatch's grid, or the blocks of a fill or copy.
  std::uint32_t num_groups(std::uint32_t step, const Submission&) const;
  /// The number of bytes that the step may touch.
  std::uint64_t num_bytes(std::uint32_t step, const Submission&) const;
  /// Runs groups of one step (a dispatch, a fill or a copy) in the worker's workgroup memory. The status names the
  /// kernel. Errors that the kernel reports are added to the status word.
  Status run_step_groups(std::uint32_t step, GroupRange, InlineWorker&, std::uint32_t& status_word,
                         const Replay&) const;
  /// The status for the errors that the step's kernel has reported, as worded by the submission's explainer, if any.
  Status reported(std::uint32_t step, std::uint32_t status_word, const Replay&) const;
  /// "command 2 (dispatch 'add')".
  std::string describe_step(std::uint32_t step) const;
  /// The kCancelled status of a submission that was stopped before this step.
  Status stopped_before(std::uint32_t step) const;

 private:
  struct FillStep {
    std::uint32_t destination;  // index in InlineRun::addresses
    SizeIndex length;
    std::uint64_t pattern;
    std::uint32_t pattern_bytes;
  };
  struct CopyStep {
    std::uint32_t source;  // index in InlineRun::addresses
    std::uint32_t destination;
    SizeIndex length;
  };
  struct DispatchStep {
    KernelIndex kernel;
    SizeIndex num_groups;
    std::uint32_t first_buffer;  // index in InlineRun::addresses
    std::uint32_t num_buffers;
    std::uint32_t first_size;                  // index in InlineRun::size_arguments
    const std::vector<TouchedRange>* touched;  // DispatchCommand::touched of the list
    bool may_stream = false;                   // whether it can write stream_from_bytes_
    std::string label;
  };
  using Step = std::variant<FillStep, CopyStep, DispatchStep>;

  /// Runs a kernel's groups on this thread; with one worker, all groups of the dispatch. The status does not name the
  /// kernel.
  virtual Status run_kernel_groups(const InlineDispatch&) const = 0;

  const KernelInfo& info(const DispatchStep& dispatch) const { return executable_->info(dispatch.kernel); }
  bool may_stream(const DispatchStep&) const;
  bool streams(const DispatchStep&, const Replay&) const;
  /// "exp_0 (layer3/q)".
  std::string kernel_text(const DispatchStep& dispatch) const { return labelled(info(dispatch).name, dispatch.label); }
  std::uint32_t add_address(const BufferRange&);
  void add_step(const FillCommand&);
  void add_step(const CopyCommand& copy) { add_copy(copy.source, copy.destination); }
  void add_step(const UploadCommand& upload) { add_copy(upload.source, upload.destination); }
  void add_step(const DownloadCommand& download) { add_copy(download.source, download.destination); }
  void add_step(const DispatchCommand&);
  void add_step(const BarrierCommand&) { add_stage(); }
  void add_step(const LoopCommand&) {}  // never called: Device::record() splits lists at loops and conditions
  void add_step(const CondCommand&) {}
  void add_copy(const BufferRange& source, const BufferRange& destination);
  void add_stage();  // makes a stage of the steps that no stage contains yet
  Result<std::unique_ptr<InlineRun>> make_run() const;

  void resolve(const Submission&, InlineRun&) const;
  /// Runs the whole list. An exception of a kernel becomes the status; std::bad_alloc is passed on.
  Status run_list(const Submission&, InlineRun&) const;
  /// Runs all stages in order. With one worker, the list is a single stage. If times are wanted, each step is a stage.
  Status run_all_stages(Replay&) const;
  std::int64_t length(std::uint32_t step, const Submission&) const;

  SubmissionCheck check_;
  std::shared_ptr<const Executable> executable_;
  std::uint32_t num_workers_;
  std::uint64_t stream_from_bytes_;
  std::vector<Step> steps_;
  std::vector<CommandId> step_commands_;  // the command of each step
  std::vector<Stage> stages_;
  std::vector<BufferRange> ranges_;      // where each address comes from
  std::vector<SizeIndex> size_sources_;  // where each size argument comes from
  const KernelInfo* largest_ = nullptr;  // the kernel with the most workgroup memory; null if none has any
  mutable InlineRunPool runs_;
};

}  // namespace millrace
