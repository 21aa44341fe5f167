// SPDX-License-Identifier: Apache-2.0
// Nests the accumulators of long float sums, so that their rounding error stays small.
#include "jit/map/sum_levels.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "jit/ir/reduction.h"

namespace millrace {
namespace {

constexpr int kLevelBits = std::countr_zero(static_cast<std::uint64_t>(kMaxSumTerms));
static_assert(std::int64_t{1} << kLevelBits == kMaxSumTerms);
/// The bound assumed for a size that has none. It limits the number of levels. No memory holds this many elements.
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 42;

std::int64_t ceil_div(std::int64_t value, std::int64_t unit) { return value / unit + (value % unit != 0); }

class NestedSums {
 public:
  NestedSums(MachineBuilder& b, const MapLoop& loop, const SumLevels& levels, const std::vector<bool>& is_float_sum)
      : b_(b), loop_(loop), levels_(levels), is_float_sum_(is_float_sum) {}

  RangeValues run(const RangeValues& carried) {
    State state = start(carried);
    const MachineValue block = b_.mul(loop_.step, b_.i64(levels_.block_steps));
    state = unpack(b_.for_loop(loop_.lower, loop_.upper, block, pack(state), [&](MachineValue first, const auto& all) {
      State now = unpack(all);
      const MachineValue end = b_.min(b_.add(first, block), loop_.upper);
      const RangeValues sums = b_.for_loop(first, end, loop_.step, zeros_and(now.others), loop_.body);
      now.others = others_of(sums);
      now.levels[0] = add(now.levels[0], sums_of(sums));
      if (levels_.levels > 1) {
        now.blocks = {b_.add(now.blocks[0], b_.i64(1))};
        raise(now, 0);
      }
      return pack(now);
    }));
    return merge(add(sums_of(carried), total(state)), state.others);
  }

 private:
  struct State {
    std::vector<RangeValues> levels;  // the sums of each level, from the lowest
    RangeValues others;               // carried values that are not float sums
    RangeValues blocks;               // the number of finished blocks, if it is needed
  };

  State start(const RangeValues& carried) {
    zeros_ = sums_of(carried);
    for (MachineValue& zero : zeros_) {
      const MachineValue scalar = b_.constant_scalar(zero_of(zero.dtype));
      zero = zero.lanes == 1 ? scalar : b_.splat(scalar, zero.lanes);
    }
    State state{std::vector(static_cast<std::size_t>(levels_.levels), zeros_), others_of(carried), {}};
    if (levels_.levels > 1) state.blocks.push_back(b_.i64(0));
    return state;
  }

  /// If `level` is full, adds its sum to level + 1 and restarts it at 0.
  void raise(State& state, std::size_t level) {
    if (level + 1 == state.levels.size()) return;
    const std::int64_t full = std::int64_t{1} << kLevelBits * static_cast<int>(level + 1);
    const MachineValue is_full = b_.eq(b_.bit_and(state.blocks[0], b_.i64(full - 1)), b_.i64(0));
    const auto raised = [&] {
      State next = state;
      next.levels[level + 1] = add(next.levels[level + 1], next.levels[level]);
      next.levels[level] = zeros_;
      raise(next, level + 1);
      return pack(next);
    };
    state = unpack(b_.if_else(is_full, raised, [&] { return pack(state); }));
  }

  /// The sum of all levels. With fewer than kMaxSumTerms blocks, only the lowest level is not 0.
  RangeValues total(const State& state) {
    const auto of_all = [&] {
      RangeValues sum = state.levels.back();
      for (std::size_t level = state.levels.size() - 1; level-- > 0;) sum = add(sum, state.levels[level]);
      return sum;
    };
    if (levels_.levels <= 2) return of_all();
    return b_.if_else(b_.lt(state.blocks[0], b_.i64(kMaxSumTerms)), [&] { return state.levels[0]; }, of_all);
  }

  RangeValues add(const RangeValues& sums, const RangeValues& terms) {
    RangeValues result;
    for (std::size_t i = 0; i < sums.size(); ++i) result.push_back(b_.add(sums[i], terms[i]));
    return result;
  }

  RangeValues sums_of(const RangeValues& values) const { return select(values, true); }
  RangeValues others_of(const RangeValues& values) const { return select(values, false); }
  RangeValues select(const RangeValues& values, bool sums) const {
    RangeValues selected;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_float_sum_[i] == sums) selected.push_back(values[i]);
    }
    return selected;
  }

  RangeValues zeros_and(const RangeValues& others) const { return merge(zeros_, others); }
  RangeValues merge(const RangeValues& sums, const RangeValues& others) const {
    RangeValues values;
    std::size_t next_sum = 0, next_other = 0;
    for (const bool is_sum : is_float_sum_) values.push_back(is_sum ? sums[next_sum++] : others[next_other++]);
    return values;
  }

  static RangeValues pack(const State& state) {
    RangeValues all;
    for (const RangeValues& sums : state.levels) all.insert(all.end(), sums.begin(), sums.end());
    all.insert(all.end(), state.others.begin(), state.others.end());
    all.insert(all.end(), state.blocks.begin(), state.blocks.end());
    return all;
  }

  State unpack(const RangeValues& all) const {
    State state;
    auto next = all.begin();
    const auto take = [&](std::size_t count) {
      const auto first = next;
      next += static_cast<std::ptrdiff_t>(count);
      return RangeValues(first, next);
    };
    for (int level = 0; level < levels_.levels; ++level) state.levels.push_back(take(zeros_.size()));
    state.others = take(is_float_sum_.size() - zeros_.size());
    state.blocks = take(levels_.levels > 1 ? 1 : 0);
    return state;
  }

  static Scalar zero_of(DType dtype) { return dtype == DType::kF64 ? Scalar::of<double>(0) : Scalar::of<float>(0); }

  MachineBuilder& b_;
  const MapLoop& loop_;
  const SumLevels& levels_;
  const std::vector<bool>& is_float_sum_;
  RangeValues zeros_;  // one per sum
};

}  // namespace

std::int64_t max_terms(const LoopKernel& kernel) {
  const bool has_float_sum = std::ranges::any_of(kernel.reductions, is_float_sum);
  if (!has_float_sum) return std::numeric_limits<std::int64_t>::max();
  return classify(kernel) == LoopKind::kContract ? kMaxProductTerms : kMaxSumTerms;
}

std::vector<SumLevels> plan_sum_levels(std::span<const std::int64_t> max_steps, std::int64_t max_terms) {
  std::vector<SumLevels> plan(max_steps.size());
  std::int64_t terms = 1;  // per accumulator and step
  for (std::size_t i = max_steps.size(); i-- > 0;) {
    const std::int64_t steps = std::clamp<std::int64_t>(max_steps[i], 1, kMaxSteps);
    if (steps <= max_terms / terms) {
      terms *= steps;
      continue;
    }
    plan[i].block_steps = max_terms / terms;
    for (std::int64_t sums = ceil_div(steps, plan[i].block_steps); sums > 1; sums = ceil_div(sums, kMaxSumTerms)) {
      ++plan[i].levels;
    }
    // Each step of the enclosing loop adds a single term, the sum of all levels.
    terms = 1;
    max_terms = kMaxSumTerms;
  }
  return plan;
}

RangeValues emit_nested_sums(MachineBuilder& b, const MapLoop& loop, const SumLevels& levels,
                             const std::vector<bool>& is_float_sum, const RangeValues& carried) {
  if (levels.levels == 0) return b.for_loop(loop.lower, loop.upper, loop.step, carried, loop.body);
  return NestedSums(b, loop, levels, is_float_sum).run(carried);
}

}  // namespace millrace
