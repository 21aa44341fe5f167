// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/host_kernel.h"

namespace millrace {

Status HostKernel::run_observed(const KernelArgs&, std::uint32_t, std::uint32_t, const KernelObservation&) const {
  return unimplemented("a kernel that cannot be observed; interpret it");
}

}  // namespace millrace
