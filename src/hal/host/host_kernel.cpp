// SPDX-License-Identifier: Apache-2.0
// The default of run_observed, for kernels that cannot report their accesses.
#include "millrace/hal/host_kernel.h"

#include "base/guard_allocations.h"

namespace millrace {

Status HostKernel::run_observed(const KernelArgs&, std::uint32_t, std::uint32_t, const KernelObservation&) const {
  return guard_allocations([&]() -> Status {
    return unimplemented("the kernel cannot report its accesses to an observer; run it without one, or interpret it");
  });
}

}  // namespace millrace
