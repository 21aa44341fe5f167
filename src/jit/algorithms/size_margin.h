// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "millrace/jit/machine_builder.h"

namespace millrace {

// Conditions on sizes bound at run time. A margin is an expression that is at least 1 exactly if its condition holds.
// The maximum of two margins means "either condition holds".

inline SizeExpr margin_of_at_most(const SizeExpr& size, std::int64_t bound) { return SizeExpr(bound + 1) - size; }
inline SizeExpr margin_of_at_least(const SizeExpr& size, std::int64_t bound) { return size - (bound - 1); }
inline SizeExpr margin_of_not(const SizeExpr& margin) { return SizeExpr(1) - margin; }
/// Folds to 0 if the conditions provably exclude each other; for example, n <= 16 and n > 32.
SizeExpr margin_of_both(const SizeExpr& a, const SizeExpr& b);
inline bool always_holds(const SizeExpr& margin) { return margin.lower_bound() >= 1; }
inline bool never_holds(const SizeExpr& margin) { return margin.upper_bound() <= 0; }

/// 1 if the condition holds, otherwise 0. If a kernel's group count is multiplied by the indicator, the kernel runs
/// only if the condition holds. The indicator is a single atom (size_expr.h), so that the bounds of a product with it
/// are known.
SizeExpr indicator(const SizeExpr& margin);

/// A size that fits i32.
MachineValue i32_size(MachineBuilder& b, const SizeExpr& size);

/// A power of two from 1 to `maximum`, inside a kernel.
struct PowerOfTwo {
  std::uint32_t maximum = 1;
  std::optional<MachineValue> bits = std::nullopt;  // the power's logarithm, i32; if absent, the power is `maximum`
};
/// The logarithm and the power itself, as i32.
MachineValue log2_of(MachineBuilder& b, const PowerOfTwo& power);
MachineValue value_of(MachineBuilder& b, const PowerOfTwo& power);
PowerOfTwo half_of(MachineBuilder& b, const PowerOfTwo& power);

/// Calls body(i) for this thread's share of [0, count): i = thread, thread + num_threads, ... `count` must be a
/// multiple of `num_threads`, so that all threads run the same number of iterations.
void for_my_share(MachineBuilder& b, const PowerOfTwo& count, std::uint32_t num_threads,
                  const std::function<void(MachineValue)>& body);

/// A power of two that depends on sizes.
struct SizePower {
  SizeExpr value = 1;  // 0 for size 0
  SizeExpr bits = 0;   // the logarithm of `value`; 0 for value 0

  std::uint32_t maximum() const { return 1u << bits.upper_bound(); }
  PowerOfTwo in_kernel(MachineBuilder& b) const;
};

/// The smallest power of two that is at least `size` and 2^lowest_bits, for sizes up to `max_size`. For size 0 it is 0
/// if lowest_bits is 0.
SizePower bit_ceil_of(const SizeExpr& size, std::int64_t max_size, unsigned lowest_bits = 0);

/// The number of threads for `num_items`: `num_items` rounded up to a power of two if a subgroup has that many threads,
/// otherwise the whole workgroup.
SizePower threads_for(const SizeExpr& num_items, std::uint32_t subgroup_size, std::uint32_t workgroup_size);

}  // namespace millrace
