// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "hal/checks/submission.h"
#include "hal/hip/executable.h"
#include "hal/hip/memory.h"
#include "millrace/hal/device.h"

namespace millrace::hip {

/// An index in HipRun::addresses.
using AddressIndex = std::uint32_t;

struct LaunchStep {
  KernelIndex kernel{};
  SizeIndex num_groups{};
  AddressIndex first_address = 0;
  std::uint32_t first_size = 0;      // index in HipRun::sizes
  std::uint32_t first_argument = 0;  // index in HipRun::arguments
  std::uint32_t number = 0;          // the index of this launch and of its status word
  std::string label = {};            // DispatchCommand::label
};
struct FillStep {
  AddressIndex destination = 0;
  SizeIndex length{};
  std::uint64_t pattern = 0;
  std::uint32_t pattern_bytes = 1;
};
struct CopyStep {
  enum class Kind : std::uint8_t { kOnDevice, kUpload, kDownload };
  Kind kind = Kind::kOnDevice;
  AddressIndex source = 0, destination = 0;
  SizeIndex length{};
};

/// A command that does something: anything except a barrier.
struct Step {
  std::variant<LaunchStep, FillStep, CopyStep> what;
  CommandId command{};
  std::uint32_t segment = 0;  // steps of one segment have no barrier between them
};

/// The memory that one submission needs. It is made once, and reused by later submissions.
struct HipRun {
  std::vector<std::uintptr_t> bases;      // per binding
  std::vector<std::uintptr_t> addresses;  // indexed by AddressIndex
  std::vector<std::int64_t> sizes;        // the kernels' size arguments
  std::vector<std::uintptr_t> words;      // the address of each launch's status word
  std::vector<void*> arguments;           // pointers to all kernel arguments, for hipModuleLaunchKernel
  std::unique_ptr<DeviceBlock> status;    // the status words on the device; null without launches
  std::shared_ptr<std::byte> read_back;   // the status words after the last command
};

bool overlap(std::span<const std::byte>, std::span<const std::byte>);

/// A command list, prepared so that a submission only adds addresses and calls HIP.
class HipRecording final : public Recording {
 public:
  struct Parts {
    std::shared_ptr<Context> context;
    std::shared_ptr<DeviceMemory> memory;
    std::shared_ptr<PinnedMemory> pinned;
  };
  /// Precondition: check_record() is ok.
  static Result<std::shared_ptr<HipRecording>> create(const Device&, Parts, const CommandList&,
                                                      std::shared_ptr<const HipExecutable>);
  HipRecording(const Device&, Parts, const CommandList&, std::shared_ptr<const HipExecutable>);

  Status check(const Submission&) const;
  const CommandList& list() const { return check_.list(); }
  const std::vector<Step>& steps() const { return steps_; }
  std::uint32_t num_launches() const { return num_launches_; }
  const KernelInfo& info(const LaunchStep& launch) const { return executable_->info(launch.kernel); }
  Function function(const LaunchStep& launch) const { return executable_->function(launch.kernel); }
  const LaunchStep& launch(std::uint32_t number) const { return std::get<LaunchStep>(steps_[launches_[number]].what); }
  CommandId command_of(std::uint32_t launch) const { return steps_[launches_[launch]].command; }

  Result<std::unique_ptr<HipRun>> take_run();
  void give_back(std::unique_ptr<HipRun>);
  bool has_transfers() const { return has_transfers_; }
  /// The host bytes of an upload or download.
  std::span<const std::byte> host_bytes(const CopyStep&, std::span<const BufferBinding>,
                                        std::span<const std::int64_t> sizes) const;
  /// Writes the submission's addresses and sizes to the run.
  void resolve(std::span<const BufferBinding> bindings, std::span<const std::int64_t> sizes, HipRun&) const;

 private:
  void add(const DispatchCommand&);
  void add(const FillCommand&);
  void add(const CopyCommand& copy) { add_copy(CopyStep::Kind::kOnDevice, copy.source, copy.destination); }
  void add(const UploadCommand& copy) { add_copy(CopyStep::Kind::kUpload, copy.source, copy.destination); }
  void add(const DownloadCommand& copy) { add_copy(CopyStep::Kind::kDownload, copy.source, copy.destination); }
  void add(const BarrierCommand&) {}
  void add(const LoopCommand&) {}  // never called: Device::record() splits lists at loops and conditions
  void add(const CondCommand&) {}
  void add_copy(CopyStep::Kind, const BufferRange& source, const BufferRange& destination);
  AddressIndex add_address(const BufferRange&);
  Result<std::unique_ptr<HipRun>> make_run() const;
  Status check_rereads(const Submission&) const;

  Parts parts_;
  SubmissionCheck check_;
  std::shared_ptr<const HipExecutable> executable_;
  std::vector<Step> steps_;
  std::vector<std::size_t> launches_;                         // indices in steps_
  std::vector<std::size_t> downloads_;                        // indices in steps_
  std::vector<std::pair<std::size_t, std::size_t>> rereads_;  // indices in steps_ of a download and of a later upload
  std::vector<BufferRange> ranges_;                           // indexed by AddressIndex
  std::vector<SizeIndex> size_sources_;                       // per size argument
  std::uint32_t num_arguments_ = 0;
  std::uint32_t num_launches_ = 0;
  bool has_transfers_ = false;  // between host and device
  std::mutex mutex_;
  std::vector<std::unique_ptr<HipRun>> free_runs_;
};

}  // namespace millrace::hip
