// SPDX-License-Identifier: Apache-2.0
// The interface through which tests control the stand-in, a shared library that replaces AMD's HIP runtime, and query
// its state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hal/hip/api.h"

namespace millrace::hip_standin {

struct DeviceOptions {
  std::string name = "Stand-in GPU";
  std::string architecture = "gfx1100";  // with its settings: "gfx90a:sramecc+:xnack-"
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  std::uint32_t max_grid_x = 0x7fff'ffff;  // workgroups; a launch may also have at most 2^32 - 1 threads
  bool has_memory_pools = true;
  bool pools_wait = true;  // an allocation waits for the releases that are queued before it fails
};

/// When commands run, apart from calls that wait for them. Each order that streams and events allow may come about, by
/// the seed.
enum class Eagerness : std::uint8_t {
  kLazy,   // a call that only queues a command runs nothing
  kMixed,  // it may run a few commands, by the seed
  kEager,  // it runs all that may run
};

/// A program that knows nothing of the stand-in finds a device for each architecture that the environment variable
/// MILLRACE_HIP_STANDIN_ARCHITECTURES lists ("gfx1100 gfx90a:xnack-"); without it, the default one.
struct Options {
  std::vector<DeviceOptions> devices = {DeviceOptions{}};
  int version = 60'342'131;  // of the runtime: 6.3. Below 60'000'000 it behaves as HIP 5
  std::uint64_t seed = 0;    // 0: commands run in the order of the calls, and kernels too
  Eagerness eagerness = Eagerness::kLazy;
  /// How many commands hipEventQuery runs at most.
  std::uint32_t max_commands_per_query = 4;
  /// Whether kernels run with the executor's checks (IsaDeviceOptions::finds_mistakes).
  bool checks_kernels = true;
  /// A kernel that executes more instructions never ends: its stream hangs.
  std::uint64_t max_wave_instructions = std::uint64_t{1} << 32;
};

/// A call that came in.
struct Call {
  std::string_view entry;    // "hipMalloc"
  int device = -1;           // that it is about; -1: none
  std::uint64_t stream = 0;  // a number, from 1 on in the order of creation; 0: none
  std::uint64_t event = 0;   // likewise
  std::uint64_t bytes = 0;   // allocated, copied or filled; workgroups of a launch
  hip::Error result = hip::Error::kSuccess;
  bool is_injected = false;  // it failed because a test asked for that
  std::uint64_t thread = 0;  // a number, from 1 on in the order of first calls
};

/// The process has one stand-in per library file. Thread-safe.
///
/// Misuse is a finding: a text that begins with the entry's name. These are found:
///  - handles and pointers that are unknown, were released, or are of another device or kind than the call takes;
///  - copies, fills and kernels that reach past an allocation, and every mistake that the executor finds in a kernel;
///  - asynchronous copies from or to memory of the host that is neither hipHostMalloc's nor registered: HIP lets them
///    wait, or read late; here they fail with hipErrorInvalidValue;
///  - host memory passed as a kernel's argument, though AMD GPUs could use pinned memory;
///  - releasing memory, a module, a stream or a pool that queued commands use;
///  - a launch with another block than the kernel was compiled for, or while another device is current;
///  - a call that would never return, because a stream hangs: it fails with hipErrorUnknown;
///  - the null stream, which waits for others.
/// A copy reads and writes memory of the host when the command runs. Memory of the device cannot be touched by the
/// host, holds garbage when it is new, and its addresses are used only once.
class Control {
 public:
  /// Forgets everything, as if the process began anew. Precondition: nobody else is inside a call.
  virtual void reset(const Options&) = 0;

  /// The names of all entries, in the order of functions.inc.
  virtual std::vector<std::string_view> entries() const = 0;
  /// The calls of `entry` from the `number`-th on, counted from now and from 1 on, fail with `error`, `count` of them.
  /// A call that fails does nothing, except that one that releases something does release it. kLaunchFailure loses the
  /// thread's current device. kSuccess leaves the call out: a mistake that the caller might have made. "" is any entry.
  virtual void fail_calls(std::string_view entry, std::uint64_t number, hip::Error error, std::uint64_t count = 1) = 0;
  /// Whether all failures asked for have come about.
  virtual bool have_failed() const = 0;
  /// The device does nothing from now on. Every call about it fails with hipErrorLaunchFailure, except releases.
  virtual void lose_device(int ordinal) = 0;
  /// While commands are held, none runs, whatever waits for it.
  virtual void hold_commands(bool is_held) = 0;
  /// No command of the device ends from now on.
  virtual void hang_device(int ordinal) = 0;
  /// The `number`-th launch, counted from now and from 1 on, never ends.
  virtual void hang_launch(std::uint64_t number) = 0;

  virtual std::vector<Call> calls() const = 0;
  virtual std::uint64_t num_calls(std::string_view entry) const = 0;
  virtual void clear_calls() = 0;
  /// How often hipFree or another call that should not wait had to wait for queued commands.
  virtual std::uint64_t num_hidden_waits() const = 0;
  /// Nanoseconds that the calling thread has spent inside entries.
  virtual std::uint64_t thread_ns() const = 0;

  virtual std::vector<std::string> findings() const = 0;
  /// Takes the findings away: for tests that cause some.
  virtual std::vector<std::string> take_findings() = 0;
  /// What was made and not released: "stream 3", "64 bytes of device 0 at 0x7f0000001000".
  virtual std::vector<std::string> live_objects() const = 0;
  virtual std::uint64_t num_queued_commands() const = 0;

  /// Runs queued commands until none can run.
  virtual void run_all() = 0;
  /// The bytes of device memory, as they are now. Precondition: they are inside one allocation.
  virtual std::vector<std::byte> peek(const void* device_address, std::size_t num_bytes) const = 0;

 protected:
  ~Control() = default;
};

/// What the library exports as "millrace_hip_standin".
using ControlFunction = Control* (*)();
inline constexpr char kControlName[] = "millrace_hip_standin";

/// The files of its variants: one with every entry point; one with those alone without which the driver opens none, as
/// an old runtime; one with not even all of these.
extern const char kLibrary[], kRequiredLibrary[], kLackingLibrary[];

/// The stand-in of the library at `path`, which stays open. Aborts if it cannot be opened.
Control& open_control(const char* path);

}  // namespace millrace::hip_standin
