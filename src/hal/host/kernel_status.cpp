// SPDX-License-Identifier: Apache-2.0
// Turns the status word that kernels write into an error message.
#include <string>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {

Status kernel_status(std::string_view kernel_name, std::uint32_t status_word) {
  return guard_allocations([&]() -> Status {
    constexpr auto kIndexOutOfRange = static_cast<std::uint32_t>(KernelError::kIndexOutOfRange);
    if (status_word == 0) return {};
    if ((status_word & ~kIndexOutOfRange) != 0) {
      return internal_error(
          fmt::format("kernel '{}': status word 0x{:08x}, expected only bits of KernelError; please "
                      "report it",
                      kernel_name, status_word));
    }
    return out_of_range(fmt::format(
        "kernel '{}': index out of range; give indices within the axis that they select from", kernel_name));
  });
}

}  // namespace millrace
