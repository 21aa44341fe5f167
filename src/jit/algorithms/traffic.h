// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// The bytes that a kernel reads and writes in each buffer, as far as its form determines them. An algorithm whose
/// traffic depends on the data corrects the result.
std::vector<BufferTraffic> traffic_of(const Kernel&, const KernelInfo&);

}  // namespace millrace
