// SPDX-License-Identifier: Apache-2.0
// Emits the loop of a scan whose float carry restarts after a bounded number of steps, so that long sums stay accurate.
#include "jit/algorithms/scan/nested_carry.h"

namespace millrace {
namespace {

/// The maximum number of levels, which is used if the length has no bound. It is enough for any row that fits in
/// memory.
constexpr int kMaxCarryLevels = 5;

using Values = MachineBuilder::Values;

class NestedCarry {
 public:
  NestedCarry(MachineBuilder& b, const CarriedLoop& loop, const CarriedStep& body)
      : b_(b), loop_(loop), body_(body), levels_(static_cast<std::size_t>(loop.levels)) {}

  MachineValue run() {
    if (levels_ == 0) return run_steps(loop_.first, loop_.end, loop_.base);
    const MachineValue block = b_.mul(loop_.step, b_.i64(kMaxSumTerms));
    Values state(levels_, loop_.identity);
    if (levels_ > 1) state.push_back(b_.i64(0));
    state = b_.for_loop(loop_.first, loop_.end, block, state, [&](MachineValue first, const Values& carried) {
      Values now = carried;
      const MachineValue end = b_.min(b_.add(first, block), loop_.end);
      now[0] = b_.add(now[0], run_steps(first, end, sum_of_levels(loop_.base, carried)));
      if (levels_ > 1) {
        now.back() = b_.add(now.back(), b_.i64(1));
        raise(now, 0);
      }
      return now;
    });
    return sum_of_levels(std::nullopt, state);
  }

 private:
  MachineValue run_steps(MachineValue first, MachineValue end, const std::optional<MachineValue>& base) {
    return b_.for_loop(first, end, loop_.step, {loop_.identity},
                       [&](MachineValue at, const Values& carried) { return Values{body_(at, base, carried[0])}; })[0];
  }

  MachineValue sum_of_levels(std::optional<MachineValue> sum, const Values& state) {
    for (std::size_t level = levels_; level-- > 0;) sum = sum ? b_.add(*sum, state[level]) : state[level];
    return *sum;
  }

  /// If `level` is full, adds its sum to the next level and restarts `level`. The last value of the state is the number
  /// of finished blocks; it shows whether the level is full.
  void raise(Values& state, std::size_t level) {
    if (level + 1 == levels_) return;
    std::int64_t full = 1;
    for (std::size_t i = 0; i <= level; ++i) full *= kMaxSumTerms;
    const MachineValue is_full = b_.eq(b_.bit_and(state.back(), b_.i64(full - 1)), b_.i64(0));
    const auto raised = [&] {
      Values next = state;
      next[level + 1] = b_.add(next[level + 1], next[level]);
      next[level] = loop_.identity;
      raise(next, level + 1);
      return next;
    };
    state = b_.if_else(is_full, raised, [&] { return state; });
  }

  MachineBuilder& b_;
  const CarriedLoop& loop_;
  const CarriedStep& body_;
  std::size_t levels_;
};

}  // namespace

bool has_nested_carry(const ScanDescriptor& scan) {
  return scan.kind == ReductionKind::kSum && is_float(scan.input.type.dtype);
}

int num_carry_levels(const ScanDescriptor& scan, std::int64_t max_steps) {
  if (!has_nested_carry(scan)) return 0;
  int levels = 0;
  for (; max_steps > kMaxSumTerms && levels < kMaxCarryLevels; ++levels) max_steps = (max_steps - 1) / kMaxSumTerms + 1;
  return levels;
}

MachineValue emit_carried_loop(MachineBuilder& b, const CarriedLoop& loop, const CarriedStep& body) {
  return NestedCarry(b, loop, body).run();
}

}  // namespace millrace
