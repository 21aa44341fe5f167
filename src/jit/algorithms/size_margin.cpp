// SPDX-License-Identifier: Apache-2.0
// Conditions on sizes bound at run time, as expressions. They select the algorithm for each size.
#include "jit/algorithms/size_margin.h"

#include <bit>

#include "jit/algorithms/control_flow.h"

namespace millrace {

SizeExpr margin_of_both(const SizeExpr& a, const SizeExpr& b) {
  // If the sum is always below 2, a and b are never both positive. The bounds of a and of b do not show this if both
  // depend on the same size.
  return (a + b).upper_bound() < 2 ? SizeExpr(0) : min(a, b);
}

SizeExpr indicator(const SizeExpr& margin) { return max(min(margin, 1), 0); }

MachineValue i32_size(MachineBuilder& b, const SizeExpr& size) {
  if (size.is_constant()) return b.i32(static_cast<std::int32_t>(size.constant()));
  return b.convert(DType::kI32, b.size(size));
}

MachineValue log2_of(MachineBuilder& b, const PowerOfTwo& power) {
  return power.bits ? *power.bits : b.i32(std::countr_zero(power.maximum));
}

MachineValue value_of(MachineBuilder& b, const PowerOfTwo& power) {
  return power.bits ? b.shl(b.i32(1), *power.bits) : b.i32(static_cast<std::int32_t>(power.maximum));
}

PowerOfTwo SizePower::in_kernel(MachineBuilder& b) const {
  if (bits.is_constant()) return {maximum()};
  return {maximum(), i32_size(b, bits)};
}

PowerOfTwo half_of(MachineBuilder& b, const PowerOfTwo& power) {
  if (!power.bits) return {power.maximum / 2};
  return {power.maximum / 2, b.sub(*power.bits, b.i32(1))};
}

void for_my_share(MachineBuilder& b, const PowerOfTwo& count, std::uint32_t num_threads,
                  const std::function<void(MachineValue)>& body) {
  if (!count.bits) return for_my_share(b, count.maximum, num_threads, body);
  const MachineValue thread_bits = b.i32(std::countr_zero(num_threads)), one = b.i32(1);
  const MachineValue iterations = b.shl(one, b.sub(*count.bits, thread_bits));
  const MachineValue threads = b.i32(static_cast<std::int32_t>(num_threads));
  for_each(b, b.i32(0), iterations, one,
           [&](MachineValue iteration) { body(b.mul_add(iteration, threads, b.thread_id())); });
}

SizePower bit_ceil_of(const SizeExpr& size, std::int64_t max_size, unsigned lowest_bits) {
  const std::int64_t lowest = std::int64_t{1} << lowest_bits;
  SizePower power{.value = lowest_bits == 0 ? min(size, 1) : SizeExpr(lowest), .bits = lowest_bits};
  for (std::int64_t step = lowest; step < max_size; step *= 2) {
    const SizeExpr is_above = indicator(margin_of_at_least(size, step + 1));
    power.value = power.value + is_above * step;
    power.bits = power.bits + is_above;
  }
  return power;
}

SizePower threads_for(const SizeExpr& num_items, std::uint32_t subgroup_size, std::uint32_t workgroup_size) {
  SizePower power = bit_ceil_of(num_items, subgroup_size);
  const SizeExpr is_above = indicator(margin_of_at_least(num_items, std::int64_t{subgroup_size} + 1));
  power.value = power.value + is_above * (std::int64_t{workgroup_size} - subgroup_size);
  power.bits = power.bits + is_above * (std::countr_zero(workgroup_size) - std::countr_zero(subgroup_size));
  return power;
}

}  // namespace millrace
