// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/scan/nested_carry.h"
#include "jit/ir/reduction.h"
#include "millrace/jit/algorithm.h"
#include "millrace/jit/float16_bodies.h"
#include "millrace/jit/machine_builder.h"

namespace millrace {

/// The floating-point operations of a kernel that combines each element once.
inline SizeExpr flops_of(const ScanDescriptor& scan) {
  return is_float(scan.input.type.dtype) ? scan.input.type.shape.num_elements() : SizeExpr(0);
}

/// The maximum length of a short line. Its steps are unrolled instead of emitted as a loop.
inline constexpr std::int64_t kMaxInShortLine = 15;

/// Emits the scan of one line (a row along the axis), or of `lanes` lines side by side, by one thread. The carry is in
/// a register, or in one register per level (nested_carry.h). The callbacks are load(position) and store(position,
/// value), with a position along the axis (i64) and values in the form in which memory stores them.
template <class Load, class Store>
void emit_line_scan(MachineBuilder& b, const ScanDescriptor& scan, std::uint32_t lanes, Load&& load, Store&& store) {
  const DType stored = scan.input.type.dtype;
  const SizeExpr& extent = scan.input.type.shape[scan.axis];
  const MachineValue identity = b.splat(b.constant_scalar(identity_of({scan.kind, body_dtype(stored)})), lanes);
  const auto scan_one = [&](MachineValue position, const std::optional<MachineValue>& base, MachineValue carried) {
    const MachineValue term = widen_stored(b, load(position), stored);
    const MachineValue next = combine(b, scan.kind, {carried, carried}, term, term).value;
    const MachineValue result = scan.exclusive ? carried : next;
    store(position, narrow_to_stored(b, base ? b.add(*base, result) : result, stored));
    return next;
  };
  if (extent.is_constant() && extent.constant() <= kMaxInShortLine) {
    MachineValue carried = identity;
    for (std::int64_t step = 0; step < extent.constant(); ++step) {
      carried = scan_one(b.i64(scan.reverse ? extent.constant() - 1 - step : step), std::nullopt, carried);
    }
    return;
  }
  const MachineValue n = b.size(extent), last = b.sub(n, b.i64(1));
  const CarriedLoop loop = {.first = b.i64(0),
                            .end = n,
                            .step = b.i64(1),
                            .levels = num_carry_levels(scan, extent.upper_bound()),
                            .identity = identity};
  emit_carried_loop(b, loop, [&](MachineValue step, const std::optional<MachineValue>& base, MachineValue carried) {
    return scan_one(scan.reverse ? b.sub(last, step) : step, base, carried);
  });
}

}  // namespace millrace
