// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/hal/executable.h"

namespace millrace {

/// The size of a kernel's kernarg segment: the address of its status word, those of its buffers, then its sizes, 8
/// bytes each (graph/code_object.h).
inline std::uint64_t kernarg_bytes(const KernelInfo& info) {
  return 8 * (std::uint64_t{1} + info.num_buffers + info.num_sizes);
}

/// The segment's bytes for one launch.
std::vector<std::byte> make_kernarg(const KernelInfo&, const KernelArgs&);

}  // namespace millrace
