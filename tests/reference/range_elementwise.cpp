// SPDX-License-Identifier: Apache-2.0
// Ranges of elementwise ops: ops that rise or fall in each operand have their ends at the operands' ends; the others
// have a case each.
#include <algorithm>
#include <numbers>

#include "tests/reference/range_families.h"

namespace millrace::reference {
namespace {

long double low_of(const Range& range, std::int64_t i) {
  return read_element<long double>(range.low.type.dtype, range.low.element(i));
}
long double high_of(const Range& range, std::int64_t i) {
  return read_element<long double>(range.high.type.dtype, range.high.element(i));
}

void copy_element(const Tensor& from, Tensor& to, std::int64_t i) {
  std::memcpy(to.element(i), from.element(i), size_bytes(to.type.dtype));
}

bool contains_zero(const Range& range, std::int64_t i) { return low_of(range, i) <= 0 && high_of(range, i) >= 0; }

/// Widens element i of the range to include another result at the operands' ends.
void include(Range& range, const Tensor& corner, std::int64_t i) {
  if (is_float(corner.type.dtype)) {
    const auto value = read_element<long double>(corner.type.dtype, corner.element(i));
    if (std::isnan(value) != std::isnan(low_of(range, i))) return open(range, i);
    if (range.is_open(i)) return;
    if (std::isnan(value)) return;
  }
  // -0 and +0 are different bits and equal numbers: either end may be the new one.
  const auto value = read_element<long double>(corner.type.dtype, corner.element(i));
  if (value < low_of(range, i)) copy_element(corner, range.low, i);
  if (value > high_of(range, i)) copy_element(corner, range.high, i);
  const bool is_other_zero = value == 0 && range.is_known(i) &&
                             std::memcmp(corner.element(i), range.low.element(i), size_bytes(corner.type.dtype)) != 0;
  if (is_other_zero) copy_element(corner, range.high, i);
}

/// Over every choice of low and high operands.
Range hull_of_corners(const RangeCase& node) {
  const std::vector<Tensor> low = lows(node.operands), high = highs(node.operands);
  Range range = known(evaluate(node.op, node.attributes, low)[0]);
  for (std::size_t choice = 1; choice < (std::size_t{1} << low.size()); ++choice) {
    std::vector<Tensor> operands = low;
    for (std::size_t n = 0; n < low.size(); ++n) {
      if ((choice >> n & 1) != 0) operands[n] = high[n];
    }
    const Tensor corner = evaluate(node.op, node.attributes, operands)[0];
    for (std::int64_t i = 0; i < corner.num_elements(); ++i) include(range, corner, i);
  }
  return range;
}

/// Integers wrap, so that nothing rises with its operands for good.
bool wraps(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::rem || op == Op::neg ||
         op == Op::abs || op == Op::logical_and || op == Op::logical_or || op == Op::logical_xor ||
         op == Op::logical_not;
}

/// Whether the corners say too little of element i, where the operands are bounded.
bool is_jagged(const RangeCase& node, std::int64_t i) {
  const Range& x = *node.operands[0];
  const DType dtype = x.low.type.dtype;
  if (is_integer(dtype) && wraps(node.op)) return true;
  switch (node.op) {
    case Op::div:
      return contains_zero(*node.operands[1], i);
    case Op::rem:
      return true;
    case Op::leaky_relu:
      return contains_zero(x, i) && low_of(*node.operands[1], i) < 0;
    case Op::hard_swish:
      return low_of(x, i) < 0 && high_of(x, i) > -3;
    case Op::tan: {  // a pole, or too many to tell
      constexpr long double kPi = std::numbers::pi_v<long double>;
      return std::floor(low_of(x, i) / kPi - 0.5L) != std::floor(high_of(x, i) / kPi - 0.5L);
    }
    case Op::atan2:
      return low_of(*node.operands[1], i) <= 0;
    case Op::pow:
      return low_of(x, i) <= 0;
    case Op::bit_cast:
      return true;
    case Op::cast: {
      const DType to = std::get<CastAttrs>(node.attributes).dtype;
      return (to == DType::kBool && contains_zero(x, i)) || (is_integer(dtype) && !is_float(to));
    }
    default:
      return false;
  }
}

/// A known NaN has a sign and a payload that an implementation may choose.
bool reads_nan_bits(const RangeCase& node, std::int64_t i) {
  const Range& x = *node.operands[0];
  return node.op == Op::bit_cast && is_float(x.low.type.dtype) && std::isnan(low_of(x, i));
}

bool is_known_at(const RangeCase& node, std::int64_t i) {
  if (reads_nan_bits(node, i)) return false;
  return std::ranges::all_of(node.operands, [&](const Range* operand) { return operand->is_known(i); });
}
bool is_open_at(const RangeCase& node, std::int64_t i) {
  return std::ranges::any_of(node.operands, [&](const Range* operand) { return operand->is_open(i); });
}

/// What the corners miss of element i.
void mend(const RangeCase& node, Range& range, std::int64_t i) {
  const Range& x = *node.operands[0];
  if (is_open_at(node, i) || is_jagged(node, i)) return open(range, i);
  const DType dtype = range.low.type.dtype;
  const auto set = [&](Tensor& end, double value) { write_element(dtype, value, end.element(i)); };
  if (node.op == Op::abs && contains_zero(x, i)) set(range.low, 0.0);
  if (node.op == Op::sin || node.op == Op::cos) {  // no steeper than 1
    const double width = static_cast<double>(high_of(x, i) - low_of(x, i));
    const double minimum = static_cast<double>(low_of(range, i)), maximum = static_cast<double>(high_of(range, i));
    set(range.low, minimum - width);
    set(range.high, maximum + width);
  }
  if (node.op != Op::equal && node.op != Op::not_equal) return;
  const Range& y = *node.operands[1];
  const bool is_one_value = &x == &y;  // bounded, so no NaN
  const bool is_apart = high_of(x, i) < low_of(y, i) || high_of(y, i) < low_of(x, i);
  if (!is_one_value && !is_apart) return open(range, i);
  const std::int64_t is_equal = is_one_value ? 1 : 0;
  for (Tensor* end : {&range.low, &range.high}) {
    write_element(dtype, static_cast<Int128>(node.op == Op::equal ? is_equal : 1 - is_equal), end->element(i));
  }
}

/// An implementation may be `max_ulp` away.
void widen(Range& range, std::int64_t i, double max_ulp) {
  if (range.is_open(i)) return;
  const DType dtype = range.low.type.dtype;
  const long double low = low_of(range, i), high = high_of(range, i);
  if (!std::isfinite(low) || !std::isfinite(high)) return;
  write_element(dtype, low - max_ulp * ulp_at(dtype, low), range.low.element(i));
  write_element(dtype, high + max_ulp * ulp_at(dtype, high), range.high.element(i));
}

Range select_range(const RangeCase& node) {
  const Range &condition = *node.operands[0], &yes = *node.operands[1], &no = *node.operands[2];
  Range range = no;
  for (std::int64_t i = 0; i < range.low.num_elements(); ++i) {
    const bool is_true = *condition.low.element(i) != std::byte{0};
    const bool can_be_true = *condition.high.element(i) != std::byte{0};
    if (!can_be_true) continue;
    if (is_true) {
      copy_element(yes.low, range.low, i);
      copy_element(yes.high, range.high, i);
    } else if (yes.is_open(i) || no.is_open(i)) {
      open(range, i);
    } else {
      include(range, yes.low, i);
      include(range, yes.high, i);
    }
  }
  settle(range);
  return range;
}

}  // namespace

Range elementwise_range(const RangeCase& node) {
  if (node.op == Op::select) return select_range(node);
  Range range = hull_of_corners(node);
  for (std::int64_t i = 0; i < range.low.num_elements(); ++i) {
    const bool is_known = is_known_at(node, i);
    if (!is_known) mend(node, range, i);
    if (node.max_ulp == 0) continue;
    if (is_known && !node.shown.empty()) {
      copy_element(node.shown[0], range.low, i);
      copy_element(node.shown[0], range.high, i);
    } else {
      widen(range, i, node.max_ulp);
    }
  }
  settle(range);
  return range;
}

}  // namespace millrace::reference
