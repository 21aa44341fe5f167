// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/base/status.h"
#include "millrace/hal/memory_observer.h"

namespace millrace {

/// Errors that a kernel can meet while running, as bits of its status word.
enum class KernelError : std::uint32_t {
  kNone = 0,
  kIndexOutOfRange = 1,  // a gather index outside its axis
};

/// What a status word says of a kernel's run: ok for 0, or an error that names the kernel and each of its bits.
Status kernel_status(std::string_view kernel_name, std::uint32_t status_word);

/// What a host kernel is called with. Generated code reads it by these offsets; never reorder.
struct KernelArgs {
  std::uint32_t* status;      // 0: status word; kernels OR KernelError bits in, atomically
  void* workgroup_memory;     // 8: this worker's block, 64-byte aligned, at least the plan's workgroup_bytes
  void* const* buffers;       // 16: one pointer per buffer argument, to its first byte
  const std::int64_t* sizes;  // 24: one value per size argument
};
static_assert(sizeof(KernelArgs) == 32);

/// Runs workgroups [first_group, end_group). Groups are independent; results do not depend on how they are shared out.
using HostKernelEntry = void (*)(const KernelArgs*, std::uint32_t first_group, std::uint32_t end_group);

/// Ordinary compiled C++ around a generated microkernel; `microkernel` is the image's entry address, `parameters` are
/// the image's own. An image names it, so that a cached image finds it again without its generator.
using HostRoutine = void (*)(const void* microkernel, std::span<const std::int64_t> parameters, const KernelArgs*,
                             std::uint32_t first_group, std::uint32_t end_group);

/// A kernel that the host runs without machine code of its own: the interpreter, behind this interface. An error does
/// not name the kernel: who runs it does.
class HostKernel {
 public:
  virtual ~HostKernel() = default;
  virtual Status run(const KernelArgs&, std::uint32_t first_group, std::uint32_t end_group) const = 0;
  /// Does what `run` does, before an observer's eyes. Refused by kernels that cannot say what they do.
  virtual Status run_observed(const KernelArgs&, std::uint32_t first_group, std::uint32_t end_group,
                              const KernelObservation&) const;
};

}  // namespace millrace
