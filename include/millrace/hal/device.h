// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/hal/buffer.h"
#include "millrace/hal/command_list.h"
#include "millrace/hal/executable.h"
#include "millrace/hal/semaphore.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

/// A command list made ready for one device, to be replayed with new bindings. One submission at a time.
class Recording {
 public:
  virtual ~Recording() = default;
};

/// Is told of a submission's commands as they run, one after another, on a device that finishes inline: for traces and
/// profiles. `command` counts CommandList::commands; such a device runs no barriers and tells of none.
class SubmissionObserver {
 public:
  virtual ~SubmissionObserver() = default;
  virtual void begin(std::size_t command) = 0;
  /// Not called for a command that fails.
  virtual void end(std::size_t command) = 0;
};

/// A dispatch whose kernel met errors while it ran.
struct DispatchFailure {
  std::size_t command = 0;  // in CommandList::commands
  KernelIndex kernel{};
  std::uint32_t errors = 0;  // bits of KernelError
  friend bool operator==(const DispatchFailure&, const DispatchFailure&) = default;
};

/// What one replay uses. Spans are only read during submit on devices that finish inline.
struct Submission {
  std::span<const BufferBinding> bindings = {};  // as CommandList::bindings
  std::span<const std::int64_t> sizes = {};      // as CommandList::sizes, evaluated
  std::span<const Timepoint> wait = {};
  std::span<const Timepoint> signal = {};
  SubmissionObserver* observer = nullptr;  // null: nobody watches, and nothing is paid
  /// Set to the dispatch that met a KernelError, beside the status that says so to people; else left as it is. Null:
  /// nobody asks.
  std::optional<DispatchFailure>* failure = nullptr;
};

class Device {
 public:
  virtual ~Device() = default;
  /// The name it was asked for by: "cpu", "trace(cpu)".
  virtual std::string_view name() const = 0;
  virtual const TargetSpec& target() const = 0;

  virtual Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) = 0;
  /// Loads images into one table: image i is KernelIndex i. Fails naming the kernel whose image is not for this device.
  virtual Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) = 0;
  /// Validates the list against the executable and makes it replayable. Allocates all that replays need.
  virtual Result<std::unique_ptr<Recording>> record(const CommandList&, std::shared_ptr<Executable>) = 0;
  /// Checks the bindings against the list (count, null, length), waits, runs, signals. On failure the signal
  /// semaphores carry the status. Run-time errors of kernels (KernelError) come back with the kernel's name.
  /// The inline cpu device allocates nothing here.
  virtual Status submit(Recording&, const Submission&) = 0;
};

/// For tests of kernels: results must not depend on how a dispatch's groups are shared out.
struct CpuDeviceOptions {
  std::uint32_t max_groups_per_call = 0xffff'ffff;  // at least 1
};

/// Makes devices of one kind.
struct Driver {
  std::string name = {};  // "cpu"
  /// Why no device can be had here (a missing runtime), or ok.
  Status (*available)() = nullptr;
  Result<std::shared_ptr<Device>> (*create)(const TargetSpec&) = nullptr;
};

/// Runs host code and interpreted kernels on the calling thread.
Driver cpu_driver();
/// The inline device for a spec that the host can execute; fails when it cannot, naming the levels that it can.
Result<std::shared_ptr<Device>> create_cpu_device(const TargetSpec&, const CpuDeviceOptions& = {});

/// Wraps `inner`: appends a line of text per recorded and submitted command to `*log`, and forwards.
/// `log` outlives the device. Without an inner device or a log there is nothing to trace: returns `inner`.
std::shared_ptr<Device> create_trace_device(std::shared_ptr<Device> inner, std::vector<std::string>* log);

}  // namespace millrace
