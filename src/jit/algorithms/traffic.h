// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// What a kernel moves of each buffer, as far as its form tells. An algorithm whose data decides corrects it.
std::vector<BufferTraffic> traffic_of(const Kernel&, const KernelInfo&);

}  // namespace millrace
