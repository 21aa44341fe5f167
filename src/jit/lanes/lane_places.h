// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/lanes/lane_function.h"
#include "jit/lanes/linear_scan.h"

namespace millrace {

/// The values that one file of registers holds. AVX2 has its masks in vectors.
enum class LaneValueClass : std::uint8_t { kVector, kMask, kVectorOrMask };

/// The registers of a function's values of one class. A value from outside a loop that is read in it lives to the
/// loop's end.
class LanePlaces {
 public:
  LanePlaces(const LaneFunction&, LaneValueClass, int num_registers);

  const RegisterPlace& of(LaneValue value) const {
    return allocation_.places[static_cast<std::size_t>(index_[static_cast<std::size_t>(value)])];
  }
  int num_slots() const { return allocation_.num_slots; }

 private:
  std::vector<int> index_;  // by value: its live range, or -1
  Allocation allocation_;
};

}  // namespace millrace
