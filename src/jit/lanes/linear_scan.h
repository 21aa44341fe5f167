// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "jit/lanes/lane_function.h"

namespace millrace {

/// The instructions from the one that writes a value to the last that reads it, inclusive. A value that is never read
/// has first == last.
struct LiveRange {
  int first = 0;
  int last = 0;
};

/// Where a value is kept: in a register, or in a slot in memory.
struct ValueLocation {
  int number = 0;
  bool is_slot = false;
  friend bool operator==(const ValueLocation&, const ValueLocation&) = default;
};

struct Allocation {
  std::vector<ValueLocation> locations;  // one per range
  int num_slots = 0;
};

/// Assigns each live range a register for its whole life. If there are too few registers, the range that ends last gets
/// a slot of its own in memory.
/// Ranges that overlap have different locations. A range may start in the register of a range that ends at the same
/// instruction, because instructions read before they write. Registers are allocated in rotation, because some
/// instructions, such as a compress on Zen 5, wait for the previous value of their result's register. Precondition:
/// `ranges` are sorted by `first`.
/// Source: Poletto and Sarkar, "Linear scan register allocation", ACM TOPLAS 21(5), 1999.
Allocation allocate_registers(std::span<const LiveRange> ranges, int num_registers);

/// The kinds of values that one register file holds. AVX2 keeps masks in vector registers.
enum class LaneValueClass : std::uint8_t { kVector, kMask, kVectorOrMask };

/// AVX-512's registers for masks: k1 to k6.
inline constexpr int kNumMaskRegisters = 6;

/// The locations of a function's values of one class. A value that is defined before a loop and read inside it lives
/// until the loop ends.
class LaneLocations {
 public:
  LaneLocations(const LaneFunction&, LaneValueClass, int num_registers);

  const ValueLocation& of(LaneValue value) const {
    return allocation_.locations[static_cast<std::size_t>(index_[static_cast<std::size_t>(value)])];
  }
  int num_slots() const { return allocation_.num_slots; }

 private:
  std::vector<int> index_;  // by value: its live range, or -1
  Allocation allocation_;
};

}  // namespace millrace
