// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace millrace {

/// From the instruction that writes a value to the last that reads it, both included. A value that is never read has
/// first == last.
struct LiveRange {
  int first = 0;
  int last = 0;
};

/// A register, or a slot of memory beside them.
struct RegisterPlace {
  int number = 0;
  bool is_slot = false;
  friend bool operator==(const RegisterPlace&, const RegisterPlace&) = default;
};

struct Allocation {
  std::vector<RegisterPlace> places;  // one per range
  int num_slots = 0;
};

/// Gives each live range a register for its whole life. If there are too few, the range that ends last gets a slot,
/// which no other range shares.
/// Ranges that overlap have different places; a range may begin in the register of one that ends at the same
/// instruction, because instructions read before they write. Registers are taken in rotation, because some results wait
/// for the one before in the same register: those of a compress on Zen 5. `ranges` are in the order of `first`.
/// Source: Poletto and Sarkar, "Linear scan register allocation", ACM TOPLAS 21(5), 1999.
Allocation allocate_registers(std::span<const LiveRange> ranges, int num_registers);

}  // namespace millrace
