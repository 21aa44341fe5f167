// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace {

/// How often this thread has called operator new. A test program that calls this counts from its start, because it
/// then links our replacement of the operators.
std::uint64_t num_allocations();

}  // namespace millrace
