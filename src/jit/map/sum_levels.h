// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "jit/map/range.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

// If a single float accumulator takes all terms of a long sum, terms below its ulp are lost: an f32 sum of ones stops
// at 2^24. Sums therefore nest. An accumulator takes a limited number of terms; its sum is then one term of the
// accumulator of the next level, and so on. The error is at most
//   (terms per accumulator * levels + 16) * eps * sum |terms|,
// where the 16 additions are those after the loop, which join the remainder's vectors, then vectors, lanes and threads.
// The parts of a reduction (jit/algorithms/loop/) are one more level.

/// The maximum number of terms of one float accumulator: kMaxProductTerms in a sum of products, as many as a product's
/// cache block has, otherwise kMaxSumTerms.
inline constexpr std::int64_t kMaxSumTerms = 128;
inline constexpr std::int64_t kMaxProductTerms = 512;

/// The maximum number of terms of one accumulator of this kernel; unlimited if it has no float sum.
std::int64_t max_terms(const LoopKernel&);

/// How a loop's sums nest. The loop is cut into blocks of `block_steps`, whose sums go to accumulators of level 1; up
/// to kMaxSumTerms of these make one term of level 2, and so on up to level `levels`.
struct SumLevels {
  std::int64_t block_steps = 0;
  int levels = 0;  // 0: one plain loop
};

/// Chooses the levels of nested loops, outermost first, so that no accumulator takes more than `max_terms` terms.
/// `max_steps` has the maximum number of steps of each loop; an innermost step adds one term to each accumulator.
std::vector<SumLevels> plan_sum_levels(std::span<const std::int64_t> max_steps, std::int64_t max_terms);

/// A loop from `lower` to `upper` as MachineBuilder::for_loop makes it, with nested sums. `is_float_sum` says which
/// carried values are accumulators of float sums; the others continue from step to step. The sums that are passed in
/// are added at the end.
RangeValues emit_nested_sums(MachineBuilder& b, const MapLoop& loop, const SumLevels& levels,
                             const std::vector<bool>& is_float_sum, const RangeValues& carried);

}  // namespace millrace
