// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// Estimates the bytes that a kernel reads and writes in each buffer. The estimate uses only the kernel's code; an
/// algorithm whose traffic depends on the data must correct it.
std::vector<BufferTraffic> traffic_of(const Kernel&, const KernelInfo&);

}  // namespace millrace
