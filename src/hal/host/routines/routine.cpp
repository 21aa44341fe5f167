// SPDX-License-Identifier: Apache-2.0
// Finds the routine that an image names, by its name and ABI version.
#include "hal/host/routines/routine.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace millrace {

Result<HostRoutine> find_routine(const RoutineCall& call) {
  const auto row = std::ranges::find(kRoutines, std::string_view(call.name), &RoutineRow::name);
  if (row == std::end(kRoutines)) {
    return not_found(fmt::format("this build has no host routine '{}'; compile the kernel again", call.name));
  }
  if (row->abi_version == call.abi_version) return row->function;
  return not_found(
      fmt::format("host routine '{}' has ABI version {} in the image and {} in this build; compile the "
                  "kernel again",
                  call.name, call.abi_version, row->abi_version));
}

}  // namespace millrace
