// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "hal/checks/submission.h"
#include "hal/host/inline_run.h"
#include "millrace/hal/device.h"

namespace millrace {

/// A command list prepared to run on the calling thread, and dispatches perhaps on others beside it. Each replay writes
/// addresses and sizes into arrays that exist already, then runs the steps one after another, so it needs no barriers.
/// Each device that finishes inline derives from it and implements how a kernel runs.
class InlineRecording : public Recording {
 public:
  /// Ok if the submission may run; its waits are not looked at.
  Status check(const Submission&) const;
  /// Runs it now and signals nothing. Precondition: it passed check(), and its waits are reached. An exception of a
  /// kernel becomes the status; std::bad_alloc is passed on.
  Status run(const Submission&) const;

 protected:
  /// A dispatch of this replay.
  struct InlineDispatch {
    KernelIndex kernel;
    const KernelArgs& args;  // with the workgroup memory of worker 0
    const InlineRun& run;
    std::uint32_t num_groups;
    std::span<const BufferRange> buffers;
    std::span<const std::int64_t> sizes;  // as CommandList::sizes
    std::size_t command;                  // in the list
    const std::stop_token& stop;
  };

  /// `prepare` comes before anything else. Precondition: check_record(list, executable) is ok. So many workers at most,
  /// each with workgroup memory of its own, run the groups of a dispatch at one time.
  InlineRecording(const CommandList& list, std::shared_ptr<const Executable> executable, const Device& device,
                  std::uint32_t num_workers = 1)
      : Recording(device.id()), check_(list, device), executable_(std::move(executable)), num_workers_(num_workers) {}
  /// Allocates all that the first replay needs.
  Status prepare();
  const CommandList& list() const { return check_.list(); }

 private:
  struct FillStep {
    std::uint32_t destination;  // in InlineRun::addresses
    SizeIndex length;
    std::uint64_t pattern;
    std::uint32_t pattern_bytes;
  };
  struct CopyStep {
    std::uint32_t source;  // in InlineRun::addresses
    std::uint32_t destination;
    SizeIndex length;
  };
  struct DispatchStep {
    KernelIndex kernel;
    SizeIndex num_groups;
    std::uint32_t first_buffer;  // in InlineRun::addresses
    std::uint32_t num_buffers;
    std::uint32_t first_size;  // in InlineRun::size_arguments
  };
  using Step = std::variant<FillStep, CopyStep, DispatchStep>;

  /// Its status does not name the kernel.
  virtual Status run_groups(const InlineDispatch&) const = 0;

  const KernelInfo& info(const DispatchStep& dispatch) const { return executable_->info(dispatch.kernel); }
  std::uint32_t add_address(const BufferRange&);
  void add_step(const FillCommand&);
  void add_step(const CopyCommand& copy) { add_copy(copy.source, copy.destination); }
  void add_step(const UploadCommand& upload) { add_copy(upload.source, upload.destination); }
  void add_step(const DownloadCommand& download) { add_copy(download.source, download.destination); }
  void add_step(const DispatchCommand&);
  void add_step(const BarrierCommand&) {}
  void add_step(const LoopCommand&) {}  // Device cuts lists at these
  void add_step(const CondCommand&) {}
  void add_copy(const BufferRange& source, const BufferRange& destination);
  Result<std::unique_ptr<InlineRun>> make_run() const;

  void resolve(const Submission&, InlineRun&) const;
  Status run_steps(const Submission&, InlineRun&) const;
  Status run_step(std::size_t number, const Submission&, InlineRun&) const;
  Status run_dispatch(const DispatchStep&, std::size_t command, const Submission&, InlineRun&) const;

  SubmissionCheck check_;
  std::shared_ptr<const Executable> executable_;
  std::uint32_t num_workers_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> step_commands_;  // which command each step is
  std::vector<BufferRange> ranges_;           // where each address comes from
  std::vector<SizeIndex> size_sources_;       // where each size argument comes from
  const KernelInfo* largest_ = nullptr;       // the kernel with most workgroup memory, if any has some
  mutable InlineRunPool runs_;
};

}  // namespace millrace
