// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/host_kernel.h"

namespace millrace {

Status HostKernel::run_observed(const KernelArgs&, std::uint32_t, std::uint32_t, const KernelObservation&) const {
  return unimplemented("the kernel tells no observer what it does; run it without one, or interpret it");
}

}  // namespace millrace
