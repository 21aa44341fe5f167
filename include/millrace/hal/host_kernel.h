// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/base/status.h"
#include "millrace/hal/memory_observer.h"

namespace millrace {

/// The errors that a running kernel reports: bits of its status word.
enum class KernelError : std::uint32_t {
  kNone = 0,
  kIndexOutOfRange = 1,  // a gather index outside its axis
};

/// Translates a status word: ok for 0, otherwise an error that names the kernel and each bit.
Status kernel_status(std::string_view kernel_name, std::uint32_t status_word);

/// The arguments of a host kernel. Generated code reads the members at these offsets: do not reorder them.
struct KernelArgs {
  std::uint32_t* status;      // 0: status word; kernels OR KernelError bits in, atomically
  void* workgroup_memory;     // 8: this worker's block, 64-byte aligned, at least the plan's workgroup_bytes
  void* const* buffers;       // 16: one pointer per buffer argument, to its first byte
  const std::int64_t* sizes;  // 24: one value per size argument
  /// 32: kWorkerStateBytes bytes that persist between the calls that one worker makes for one dispatch; zero before the
  /// first of these calls. Workgroup memory persists between them too. Null: every call counts as the first.
  void* worker_state = nullptr;
  /// 40: not 0 if stores should bypass the caches. All buffers that the kernel writes are then 64-byte aligned, and the
  /// caller fences after the last call.
  std::uint64_t streams = 0;

  static constexpr std::size_t kWorkerStateBytes = 64;
};
static_assert(sizeof(KernelArgs) == 48);

/// Runs workgroups [first_group, end_group). Groups are independent: results do not depend on how they are divided
/// among calls.
using HostKernelEntry = void (*)(const KernelArgs*, std::uint32_t first_group, std::uint32_t end_group);

/// A compiled C++ routine that calls a generated microkernel. `microkernel` is the address of the image's entry;
/// `parameters` come from the image. An image names the routine (RoutineCall), so that loading it needs no generator.
using HostRoutine = void (*)(const void* microkernel, std::span<const std::int64_t> parameters, const KernelArgs*,
                             std::uint32_t first_group, std::uint32_t end_group);

/// The interface to a kernel that the interpreter runs, without machine code. Errors do not name the kernel; the caller
/// adds its name. A device with threads calls run() for several ranges of groups at the same time.
class HostKernel {
 public:
  virtual ~HostKernel() = default;
  virtual Status run(const KernelArgs&, std::uint32_t first_group, std::uint32_t end_group) const = 0;
  /// Like `run`, and reports every access to an observer. Fails with kUnimplemented for kernels that cannot report.
  virtual Status run_observed(const KernelArgs&, std::uint32_t first_group, std::uint32_t end_group,
                              const KernelObservation&) const;
};

}  // namespace millrace
