// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/hal/buffer.h"
#include "millrace/hal/command_list.h"
#include "millrace/hal/constant_buffers.h"
#include "millrace/hal/driver.h"
#include "millrace/hal/executable.h"
#include "millrace/hal/executor.h"
#include "millrace/hal/semaphore.h"

namespace millrace {

class ControlGate;  // private

/// A command list prepared for one device, to be replayed with new bindings. Immutable: any number of submissions may
/// use it at the same time, each with its own state.
class Recording : public std::enable_shared_from_this<Recording> {
 public:
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  virtual ~Recording() = default;
  DeviceId device() const { return device_; }
  /// Whether the list has loops or conditions.
  bool has_control() const { return has_control_; }

 protected:
  explicit Recording(DeviceId device, bool has_control = false) : device_(device), has_control_(has_control) {}

 private:
  DeviceId device_;
  bool has_control_;
};

/// When a command ran, in nanoseconds on a clock that begins with the first command of its submission.
struct CommandTime {
  CommandId command{};
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  friend bool operator==(const CommandTime&, const CommandTime&) = default;
};

/// When each command of a submission ran, in the list's order; barriers are left out. Meant for profiles, on any
/// device. A device that does not finish inline measures on its own clock. A measured submission runs its commands one
/// after another. A loop or a condition counts as one command. The host's clock times it, from before the host's first
/// decision to the end of the command.
struct SubmissionTimes {
  std::vector<CommandTime> commands;
  /// Set by the caller: also records the commands in loops and conditions, one entry per execution, after the entry of
  /// the loop or condition. This slows loops and conditions down, because the host then waits for each of their parts.
  bool has_blocks = false;
};

/// A dispatch whose kernel reported errors.
struct DispatchFailure {
  CommandId command{};
  KernelIndex kernel{};
  std::uint32_t errors = 0;  // bits of KernelError
  friend bool operator==(const DispatchFailure&, const DispatchFailure&) = default;
};

/// Lets the submitter, who knows more than the device, word the message of a kernel's error.
class FailureExplainer {
 public:
  virtual ~FailureExplainer() = default;
  /// Returns the status of the submission. `status` is the one from the device, which names the kernel. Called at most
  /// once, on the thread that ends the submission, before any semaphore fails and while the bindings are valid.
  virtual Status explain(const DispatchFailure&, Status status) = 0;
};

/// The arguments of one replay. submit() copies the spans if it needs them later. The times, the explainer and the
/// bound memory must stay valid until the submission has ended.
struct Submission {
  std::span<const BufferBinding> bindings = {};  // in the order of CommandList::bindings
  std::span<const std::int64_t> sizes = {};      // the values of CommandList::sizes
  std::span<const Timepoint> wait = {};          // reached before anything runs; a later submission may signal them
  std::span<const Timepoint> signal = {};        // signalled when all work is done; if the work fails, they fail too
  FailureExplainer* explainer = nullptr;         // null: the device's message is used
  SubmissionTimes* times = nullptr;              // filled before the signals on success; null: not measured
  /// A request to stop ends the submission early, with kCancelled. A submission that still waits ends at once. A
  /// running one ends before the next workgroup on a cpu device, and before the next command on other devices that
  /// finish inline. A GPU completes the work that it was given. What a stopped submission has written is unspecified.
  std::stop_token stop = {};
};

class Device {
 public:
  virtual ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  DeviceId id() const { return id_; }
  const DeviceInfo& info() const { return info_; }
  const std::string& name() const { return info_.name; }
  /// The targets whose code the device runs, best first.
  std::span<const TargetSpec> targets() const { return info_.targets; }
  /// The threads among which the device shares its work; null if there are none.
  virtual std::shared_ptr<Executor> executor() const { return nullptr; }
  /// Buffers of constants that programs share.
  ConstantBuffers& constants() { return constants_; }

  /// Uninitialised memory. Fails with kResourceExhausted; the message gives the size.
  virtual Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) = 0;
  /// Wraps host memory that the caller owns; `deleter` (may be empty) runs once, with the last owner. Fails with
  /// kUnimplemented on a device that cannot use host memory in place: copy it with upload commands instead.
  virtual Result<std::shared_ptr<Buffer>> import_host(void* data, std::size_t size_bytes,
                                                      Buffer::Deleter deleter = {}) = 0;
  /// A timeline that this device signals and waits for, without the host if possible.
  virtual Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial_value = 0);
  /// Loads images into one table: image i is KernelIndex i. Fails if an image is not for this device, and names its
  /// kernel.
  virtual Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) = 0;
  /// Validates the list against the executable and makes it replayable. `executable` may be null for a list without
  /// kernels. Allocates everything that the first replay needs.
  Result<std::shared_ptr<Recording>> record(const CommandList&, std::shared_ptr<Executable>);
  /// Checks the submission against the list (counts, sizes, bindings), waits, runs, signals. Returns at once, except on
  /// a device that finishes inline: there, if nothing has to be waited for, the work is done when submit() returns, and
  /// the returned status is that of the work. After any failure, including a kernel that throws, the signal semaphores
  /// carry the status. Errors of kernels (KernelError) name the kernel. Work that still waits when the device is closed
  /// is cancelled (kCancelled). The inline cpu device allocates nothing here, unless it has to wait. A loop or a
  /// condition splits the list: the host waits until the part before it has written the condition, then submits the
  /// part that comes next.
  Status submit(Recording& recording, const Submission& submission) {
    begin_submission();
    return recording.has_control() ? submit_control(recording, submission) : submit_straight(recording, submission);
  }
  /// Copies bytes to the host from a buffer that no submission uses. Blocks, so it is only for diagnostics. Any thread
  /// may call it, including one that explains a failure. Runs use upload and download commands instead.
  virtual Status read_back(const Buffer&, std::size_t offset_bytes, std::span<std::byte> destination);

 protected:
  /// A wrapper passes the id of the device that it wraps, because that device creates the wrapper's buffers and
  /// executables.
  explicit Device(DeviceInfo info, DeviceId id = new_device_id());
  /// Call this first in a driver's destructor: from then on, loops and conditions do not continue, and the parts that
  /// they would submit are cancelled. Waits for parts that are being submitted.
  void close_control();

 private:
  friend class ControlRecording;  // splits lists at loops and conditions
  /// Like record() and submit(), for lists without loops and conditions.
  virtual Result<std::shared_ptr<Recording>> record_straight(const CommandList&, std::shared_ptr<Executable>) = 0;
  virtual Status submit_straight(Recording&, const Submission&) = 0;
  virtual void begin_submission() {}
  Status submit_control(Recording&, const Submission&);

  DeviceInfo info_;
  DeviceId id_;
  ConstantBuffers constants_;
  std::shared_ptr<ControlGate> control_gate_;
};

struct CpuDeviceOptions {
  /// The threads that help the submitting or signalling thread to run the commands between two barriers, if that is
  /// faster: a pool (create_thread_pool), or the application's own threads. Null: that thread runs everything.
  std::shared_ptr<Executor> executor = {};
  /// The maximum number of groups that one call of a kernel runs. For tests, which check that results do not depend on
  /// it.
  std::uint32_t max_groups_per_call = 0xffff'ffff;  // at least 1
  /// For tests of executors: distributes every dispatch with two or more groups, however small it is.
  bool shares_small_work = false;
  /// A dispatch that writes at least this many bytes stores them past the caches, which saves reading them first. 0:
  /// half of the L3 cache, but at most four times the L2 cache.
  std::uint64_t stream_from_bytes = 0;
};

/// Creates a device that runs code of `best` and of every target that `best` covers: lower levels, fewer features. It
/// finishes inline, even with an executor. Fails if the host cannot execute code of `best`; the message lists the
/// targets that the host can execute.
Result<std::shared_ptr<Device>> create_cpu_device(const TargetSpec& best, const CpuDeviceOptions& = {});

/// Wraps `inner`: passes one line of text per recorded and submitted command to `sink`, and forwards. Without an inner
/// device or a sink, returns `inner`. Only one thread at a time calls the sink.
std::shared_ptr<Device> create_trace_device(std::shared_ptr<Device> inner, Callback<std::string_view> sink);

}  // namespace millrace
