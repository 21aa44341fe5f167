// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "hal/checks/submission.h"
#include "hal/hip/hip_executable.h"
#include "hal/hip/hip_memory.h"
#include "millrace/hal/device.h"

namespace millrace::hip {

/// A position in HipRun::addresses.
using AddressIndex = std::uint32_t;

struct LaunchStep {
  KernelIndex kernel{};
  SizeIndex num_groups{};
  AddressIndex first_address = 0;
  std::uint32_t first_size = 0;      // in HipRun::sizes
  std::uint32_t first_argument = 0;  // in HipRun::arguments
  std::uint32_t number = 0;          // of this launch: its status word's
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

/// A command that does something.
struct Step {
  std::variant<LaunchStep, FillStep, CopyStep> what;
  CommandId command{};
  std::uint32_t segment = 0;  // steps of one segment have no barrier between them
};

/// What one submission at a time needs of its own. Made once and used again.
struct HipRun {
  std::vector<std::uintptr_t> bases;      // by binding
  std::vector<std::uintptr_t> addresses;  // by AddressIndex
  std::vector<std::int64_t> sizes;        // arguments of kernels
  std::vector<std::uintptr_t> words;      // the address of each launch's status word
  std::vector<void*> arguments;           // of all kernels, where they are: what hipModuleLaunchKernel takes
  std::unique_ptr<DeviceBlock> status;    // the words on the device; null without launches
  std::shared_ptr<std::byte> read_back;   // the words after the last command
};

bool overlap(std::span<const std::byte>, std::span<const std::byte>);

/// A command list, prepared so that a submission only has to add addresses and to call HIP.
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
  /// The bytes that the host's side of an upload or download is about.
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
  void add(const LoopCommand&) {}  // Device cuts lists at these
  void add(const CondCommand&) {}
  void add_copy(CopyStep::Kind, const BufferRange& source, const BufferRange& destination);
  AddressIndex add_address(const BufferRange&);
  Result<std::unique_ptr<HipRun>> make_run() const;
  Status check_rereads(const Submission&) const;

  Parts parts_;
  SubmissionCheck check_;
  std::shared_ptr<const HipExecutable> executable_;
  std::vector<Step> steps_;
  std::vector<std::size_t> launches_;                         // in steps_
  std::vector<std::size_t> downloads_;                        // in steps_
  std::vector<std::pair<std::size_t, std::size_t>> rereads_;  // each download and each upload behind it, in steps_
  std::vector<BufferRange> ranges_;                           // by AddressIndex
  std::vector<SizeIndex> size_sources_;                       // by argument
  std::uint32_t num_arguments_ = 0;
  std::uint32_t num_launches_ = 0;
  bool has_transfers_ = false;  // between host and device
  std::mutex mutex_;
  std::vector<std::unique_ptr<HipRun>> free_runs_;
};

}  // namespace millrace::hip
