// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <variant>
#include <vector>

#include "hal/cpu/cpu_executable.h"
#include "hal/submission_check.h"
#include "millrace/hal/buffer.h"
#include "millrace/hal/device.h"

namespace millrace {

/// A command list flattened for the calling thread: each replay writes addresses and sizes into arrays that are
/// already there, then walks the steps. Barriers are gone, since steps run one after another.
class CpuRecording final : public Recording {
 public:
  /// Precondition: validate(list) is ok, and its kernels are the executable's (which may be null without kernels).
  static Result<std::unique_ptr<CpuRecording>> create(const CommandList& list,
                                                      std::shared_ptr<CpuExecutable> executable,
                                                      const CpuDeviceOptions& options);

  /// Checks, waits and runs; signals nothing. Fails when another submission of this recording is under way.
  Status submit(const Submission&);

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
    const LoadedKernel* kernel;
    SizeIndex num_groups;
    KernelArgs args;  // points into addresses_ and size_arguments_, which never move again
  };
  using Step = std::variant<FillStep, CopyStep, DispatchStep>;

  CpuRecording(const CommandList& list, std::shared_ptr<CpuExecutable> executable, const CpuDeviceOptions& options)
      : check_(list), executable_(std::move(executable)), options_(options) {}
  Status flatten();
  std::uint32_t add_address(const BufferRange&);
  void add_step(const FillCommand&);
  void add_step(const CopyCommand&);
  void add_step(const DispatchCommand&);
  void add_step(const BarrierCommand&) {}
  void point_arguments();
  Status allocate_workgroup_memory();

  void resolve(const Submission&);
  Status run(const Submission&);
  Status run_step(const Step&, const Submission&);
  void run_fill(const FillStep&, const Submission&) const;
  void run_copy(const CopyStep&, const Submission&) const;
  Status run_dispatch(const DispatchStep&, const Submission&);

  SubmissionCheck check_;
  std::shared_ptr<CpuExecutable> executable_;
  CpuDeviceOptions options_;
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
