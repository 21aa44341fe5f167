// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "jit/map/range.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

// If all terms of a long sum are added to a single float accumulator, terms below its ulp are lost: an f32 sum of ones
// stops at 2^24. Sums therefore nest. An accumulator sums a limited number of terms; its sum is then one term of the
// accumulator of the next level, and so on. The error is at most
//   (terms per accumulator * levels + 16) * eps * sum |terms|,
// where 16 stands for the additions after the loop: they join the remainder's vectors, then vectors, lanes and threads.
// The parts of a reduction (jit/algorithms/loop/) are one more level.

/// The maximum number of terms that one float accumulator sums: kMaxProductTerms in a sum of products, as many as a
/// cache block of a product has; otherwise kMaxSumTerms.
inline constexpr std::int64_t kMaxSumTerms = 128;
inline constexpr std::int64_t kMaxProductTerms = 512;

/// The maximum number of terms of one accumulator of this kernel; unlimited if it has no float sum.
std::int64_t max_terms(const LoopKernel&);

/// How a loop's sums nest. The loop is cut into blocks of `block_steps` steps. The sum of a block is one term of level
/// 1. The sum of up to kMaxSumTerms such terms is one term of level 2, and so on up to level `levels`.
struct SumLevels {
  std::int64_t block_steps = 0;
  int levels = 0;  // 0: a plain loop
};

/// Chooses the levels of nested loops, outermost first, so that no accumulator sums more than `max_terms` terms.
/// `max_steps` has the maximum number of steps of each loop; an innermost step adds one term to each accumulator.
std::vector<SumLevels> plan_sum_levels(std::span<const std::int64_t> max_steps, std::int64_t max_terms);

/// Emits a loop like MachineBuilder::for_loop, but with nested sums. `is_float_sum` says which carried values are
/// accumulators of float sums; the others are carried from step to step. The initial sums in `carried` are added at the
/// end.
RangeValues emit_nested_sums(MachineBuilder& b, const MapLoop& loop, const SumLevels& levels,
                             const std::vector<bool>& is_float_sum, const RangeValues& carried);

}  // namespace millrace
