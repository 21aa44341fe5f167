// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "millrace/jit/machine_builder.h"

namespace millrace {

// Conditions on sizes that a run binds. A margin is an expression that is 1 or more where its condition holds; the
// greater of two margins is that of either condition.

inline SizeExpr margin_of_at_most(const SizeExpr& size, std::int64_t bound) { return SizeExpr(bound + 1) - size; }
inline SizeExpr margin_of_at_least(const SizeExpr& size, std::int64_t bound) { return size - (bound - 1); }
inline SizeExpr margin_of_not(const SizeExpr& margin) { return SizeExpr(1) - margin; }
/// Never holds where the two conditions are seen to exclude each other, as k <= 16 and n > 32 do when k is n.
SizeExpr margin_of_both(const SizeExpr& a, const SizeExpr& b);
inline bool always_holds(const SizeExpr& margin) { return margin.lower_bound() >= 1; }
inline bool never_holds(const SizeExpr& margin) { return margin.upper_bound() <= 0; }

/// 1 where the condition holds, else 0: as a factor of a kernel's number of groups, it leaves the kernel out of a run.
/// One atom, so that the bounds of a product with it are known.
SizeExpr indicator(const SizeExpr& margin);

/// A size that an i32 holds.
MachineValue i32_size(MachineBuilder& b, const SizeExpr& size);

/// A power of two from 1 to `most`, in a kernel.
struct PowerOfTwo {
  std::uint32_t most = 1;
  std::optional<MachineValue> bits = std::nullopt;  // its logarithm, i32; absent: it is `most`
};
/// The logarithm, and the power itself: i32.
MachineValue log2_of(MachineBuilder& b, const PowerOfTwo& power);
MachineValue value_of(MachineBuilder& b, const PowerOfTwo& power);
PowerOfTwo half_of(MachineBuilder& b, const PowerOfTwo& power);

/// Calls body(i) for the thread's share of [0, count): i = thread, thread + num_threads, ... `count` is a multiple of
/// `num_threads`, so all threads take as many turns.
void for_my_share(MachineBuilder& b, const PowerOfTwo& count, std::uint32_t num_threads,
                  const std::function<void(MachineValue)>& body);

/// A power of two that sizes decide.
struct SizePower {
  SizeExpr value = 1;  // or 0, where there is nothing
  SizeExpr bits = 0;   // its logarithm; 0 for 0

  std::uint32_t most() const { return 1u << bits.upper_bound(); }
  PowerOfTwo in_kernel(MachineBuilder& b) const;
};

/// The least power of two that is at least `size` and 2^lowest_bits, for sizes up to `most`; for a size of 0 it is 0
/// where lowest_bits is.
SizePower bit_ceil_of(const SizeExpr& size, std::int64_t most, unsigned lowest_bits = 0);

/// How many threads share `num_items`: as many as there are, rounded up to a power of two, while a subgroup has them,
/// else all of a workgroup's.
SizePower threads_for(const SizeExpr& num_items, std::uint32_t subgroup_size, std::uint32_t workgroup_size);

}  // namespace millrace
