// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "millrace/hal/command_list.h"

namespace millrace {

/// The maximum number of workgroups in a dispatch: GPUs count the threads of a dispatch in 32 bits.
inline std::int64_t max_groups(const CommandList& list, KernelIndex kernel) {
  const std::uint32_t threads = list.kernels.contains(kernel) ? list.kernels[kernel].workgroup_size : 1;
  return std::numeric_limits<std::uint32_t>::max() / std::max(threads, 1u);
}

}  // namespace millrace
