// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace {

/// How often this thread has called operator new. A test program that calls this counts from its start, because it
/// then links our replacement of the operators.
std::uint64_t num_allocations();

/// How many of the blocks that this thread took from operator new it has not freed. Negative if it frees blocks of
/// other threads.
std::int64_t num_live_allocations();

enum class Failing { kOne, kAllFromThere };

/// Has an allocation of this thread fail while it lives: the one after `num_before` others, or all from there on.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t num_before, Failing which = Failing::kOne);
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  ~FailingAllocation();
};

}  // namespace millrace
