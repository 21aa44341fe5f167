// SPDX-License-Identifier: Apache-2.0
// The checks that drivers share before they record a command list.
#include "hal/checks/record.h"

#include <fmt/format.h>

namespace millrace {
namespace {

Status check_kernels(const CommandList& list, const Executable* executable) {
  const std::size_t loaded = executable == nullptr ? 0 : executable->num_kernels();
  if (list.kernels.size() != loaded) {
    return invalid_argument(
        fmt::format("record: the command list has {} kernels, expected {} like the executable; record it with the "
                    "executable that it was made for",
                    list.kernels.size(), loaded));
  }
  for (std::uint32_t i = 0; i < loaded; ++i) {
    const KernelIndex kernel{i};
    if (list.kernels[kernel] == executable->info(kernel)) continue;
    return invalid_argument(
        fmt::format("record: kernel {} is '{}' in the command list and '{}' in the executable, "
                    "expected equal KernelInfos; record it with the executable that it was made for",
                    i, list.kernels[kernel].name, executable->info(kernel).name));
  }
  return {};
}

}  // namespace

Status check_record(const CommandList& list, const Executable* executable) {
  MILLRACE_TRY(validate(list));
  return check_kernels(list, executable);
}

}  // namespace millrace
