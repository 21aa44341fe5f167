// SPDX-License-Identifier: Apache-2.0
// Ranges of sums and products: a sum is as uncertain as all of its terms, plus the roundings of its partial sums.
#include <algorithm>

#include "tests/reference/range_families.h"

namespace millrace::reference {
namespace {

bool is_product(Op op) { return has_trait(op, kMultiplies); }
bool is_contraction(Op op) { return has_trait(op, kContraction); }

/// One number for each element, in f64.
template <class F>
Tensor map_range(const Range& range, F&& f) {
  Tensor result(DType::kF64, range.low.extents());
  for (std::int64_t i = 0; i < result.num_elements(); ++i) {
    write_element(DType::kF64, static_cast<double>(f(i)), result.element(i));
  }
  return result;
}

/// How many uncertain points each result has.
std::vector<long double> count_unknown(const RangeCase& node) {
  std::vector<Tensor> unknown, ones;
  for (const Range* operand : node.operands) {
    unknown.push_back(map_range(*operand, [&](std::int64_t i) { return operand->is_known(i) ? 0.0 : 1.0; }));
    ones.push_back(map_range(*operand, [](std::int64_t) { return 1.0; }));
  }
  const Op counting = node.op == Op::reduce_prod       ? Op::reduce_sum
                      : node.op == Op::cumulative_prod ? Op::cumulative_sum
                      : node.op == Op::scatter_mul     ? Op::scatter_add
                      : node.op == Op::dot_i32         ? Op::dot
                      : node.op == Op::conv2d_i32      ? Op::conv2d
                                                       : node.op;
  const auto count = [&](const std::vector<Tensor>& operands) {
    return read_all<long double>(evaluate(counting, node.attributes, operands)[0]);
  };
  if (counting == Op::scatter_add) return count({unknown[0], node.operands[1]->low, unknown[2]});
  if (!is_contraction(node.op)) return count(unknown);
  std::vector<long double> counts = count({unknown[0], ones[1]});
  const std::vector<long double> others = count({ones[0], unknown[1]});
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += others[i];
  return counts;
}

/// How far the operands' widths take each result; NaN where one is open.
std::vector<long double> spread(const RangeCase& node) {
  std::vector<Tensor> widths, reach;
  for (const Range* operand : node.operands) {
    const std::vector<long double> low = read_all<long double>(operand->low);
    const std::vector<long double> high = read_all<long double>(operand->high);
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    widths.push_back(map_range(
        *operand, [&](std::int64_t i) { return operand->is_known(i) ? 0.0L : std::fabs(high[at(i)] - low[at(i)]); }));
    reach.push_back(
        map_range(*operand, [&](std::int64_t i) { return std::max(std::fabs(low[at(i)]), std::fabs(high[at(i)])); }));
  }
  const auto results = [&](const std::vector<Tensor>& operands) {
    return read_all<long double>(evaluate(node.op, node.attributes, operands)[0]);
  };
  if (!is_contraction(node.op) && !is_product(node.op)) return results(widths);
  std::vector<long double> first, second;
  if (is_contraction(node.op)) {  // every |dx| |y| + |x| |dy|, the larger |x| and |y| of each range
    first = results({widths[0], reach[1]});
    second = results({reach[0], widths[1]});
    for (std::size_t i = 0; i < first.size(); ++i) first[i] += second[i];
    return first;
  }
  // The product of all |x| + |dx| less that of all |x|.
  std::vector<long double> sums = read_all<long double>(reach[0]);
  const std::vector<long double> more = read_all<long double>(widths[0]);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
  first = results({make_tensor(DType::kF64, reach[0].extents(), sums)});
  second = results({reach[0]});
  for (std::size_t i = 0; i < first.size(); ++i) first[i] -= second[i];
  return first;
}

/// The bound at the farthest ends of the operands.
std::vector<long double> bound_of_unknown(const RangeCase& node) {
  std::vector<Tensor> reach;
  for (const Range* operand : node.operands) {
    Tensor tensor = operand->low;
    for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
      const DType dtype = tensor.type.dtype;
      const auto low = read_element<long double>(dtype, operand->low.element(i));
      const auto high = read_element<long double>(dtype, operand->high.element(i));
      write_element(dtype, std::max(std::fabs(low), std::fabs(high)), tensor.element(i));
    }
    reach.push_back(std::move(tensor));
  }
  return rounding_bound(node.op, node.attributes, reach);
}

}  // namespace

Range accumulated_range(const RangeCase& node) {
  const std::vector<Tensor> operands = lows(node.operands);
  const DType dtype = operands[0].type.dtype;
  Range range = known(evaluate(node.op, node.attributes, operands)[0]);
  const std::vector<long double> unknown = count_unknown(node);
  const bool is_uncertain = std::ranges::any_of(unknown, [](long double count) { return count != 0; });
  const bool has_bound = is_float(dtype) && has_trait(node.op, kAccumulates);
  std::vector<long double> bounds(unknown.size());
  if (has_bound) bounds = accumulation_bound(node.op, node.attributes, operands);
  // Integers wrap, and the factors of a scatter may have either sign.
  std::vector<long double> spreads(unknown.size(), INFINITY), roundings(unknown.size());
  if (has_bound && is_uncertain) {
    spreads = spread(node);
    roundings = bound_of_unknown(node);
  }
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (unknown[i] != 0) bounds[i] = spreads[i] + roundings[i];
    if (bounds[i] == 0) continue;
    const auto at = static_cast<std::int64_t>(i);
    const auto middle = read_element<long double>(dtype, range.low.element(at));
    if (!std::isfinite(bounds[i]) || !std::isfinite(middle)) {
      open(range, at);
    } else {
      write_element(dtype, middle - bounds[i], range.low.element(at));
      write_element(dtype, middle + bounds[i], range.high.element(at));
    }
  }
  settle(range);
  return range;
}

}  // namespace millrace::reference
