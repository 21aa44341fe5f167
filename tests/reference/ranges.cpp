// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/ranges.h"

#include <algorithm>

#include "tests/reference/range_families.h"

namespace millrace::reference {
namespace {

long double value_of(const Tensor& tensor, std::int64_t i) {
  return read_element<long double>(tensor.type.dtype, tensor.element(i));
}

bool same_bits(const Tensor& a, const Tensor& b, std::int64_t i) {
  return std::memcmp(a.element(i), b.element(i), size_bytes(a.type.dtype)) == 0;
}

template <class W>
void set_ends(Range& range, std::int64_t i, W low, W high) {
  write_element(range.low.type.dtype, low, range.low.element(i));
  write_element(range.high.type.dtype, high, range.high.element(i));
}

Range all_open(const Tensor& like) {
  Range range = {like, like};
  for (std::int64_t i = 0; i < like.num_elements(); ++i) open(range, i);
  return range;
}

/// Ops whose results never fall when an operand rises, so that the ends of operands give the ends of results. Sums of
/// integers are not among them, because they wrap.
bool is_increasing(Op op, DType dtype) {
  if (op == Op::scatter_add) return is_float(dtype);
  return has_trait(op, kView) || has_trait(op, kMove) || has_trait(op, kPicks);
}

Range increasing_range(const RangeCase& node) {
  Range range = {evaluate(node.op, node.attributes, lows(node.operands))[0],
                 evaluate(node.op, node.attributes, highs(node.operands))[0]};
  settle(range);
  return range;
}

/// Where any index may be any: the results for the first index.
std::vector<Range> ranges_of_unknown_indices(const RangeCase& node) {
  std::vector<Tensor> operands = lows(node.operands);
  operands[1] = Tensor(operands[1].type);
  std::vector<Range> ranges;
  for (const Tensor& result : evaluate(node.op, node.attributes, operands)) ranges.push_back(all_open(result));
  return ranges;
}

}  // namespace

bool Range::is_known(std::int64_t i) const {
  if (same_bits(low, high, i)) return true;
  return is_float(low.type.dtype) && std::isnan(value_of(low, i)) && std::isnan(value_of(high, i));
}

bool Range::is_open(std::int64_t i) const {
  const DType dtype = low.type.dtype;
  if (is_float(dtype)) return std::isnan(value_of(high, i)) && !std::isnan(value_of(low, i));
  return read_element<Int128>(dtype, low.element(i)) == lowest_value<Int128>(dtype) &&
         read_element<Int128>(dtype, high.element(i)) == highest_value<Int128>(dtype);
}

bool Range::all_known() const {
  if (low.bytes == high.bytes) return true;
  for (std::int64_t i = 0; i < low.num_elements(); ++i) {
    if (!is_known(i)) return false;
  }
  return true;
}

Range known(const Tensor& tensor) { return {tensor, tensor}; }

void open(Range& range, std::int64_t i) {
  const DType dtype = range.low.type.dtype;
  if (is_float(dtype)) return set_ends(range, i, 1.0, std::numeric_limits<double>::quiet_NaN());
  set_ends(range, i, lowest_value<Int128>(dtype), highest_value<Int128>(dtype));
}

void settle(Range& range) {
  const DType dtype = range.low.type.dtype;
  for (std::int64_t i = 0; i < range.low.num_elements(); ++i) {
    if (range.is_known(i)) continue;
    const long double low = value_of(range.low, i), high = value_of(range.high, i);
    if (is_float(dtype) && !(std::isfinite(low) && std::isfinite(high))) {
      open(range, i);
    } else if (high < low) {
      for (std::size_t b = 0; b < size_bytes(dtype); ++b) std::swap(range.low.element(i)[b], range.high.element(i)[b]);
    }
  }
}

std::vector<Tensor> lows(std::span<const Range* const> operands) {
  std::vector<Tensor> tensors;
  for (const Range* operand : operands) tensors.push_back(operand->low);
  return tensors;
}

std::vector<Tensor> highs(std::span<const Range* const> operands) {
  std::vector<Tensor> tensors;
  for (const Range* operand : operands) tensors.push_back(operand->high);
  return tensors;
}

std::vector<Range> evaluate_ranges(const RangeCase& node) {
  const bool all_known = std::ranges::all_of(node.operands, &Range::all_known);
  const bool is_sum = has_trait(node.op, kAccumulates) && is_float(node.operands[0]->low.type.dtype);
  const auto* topk = std::get_if<TopKAttrs>(&node.attributes);
  const bool is_unsorted = topk != nullptr && !topk->sorted;
  const bool reads_nan_bits = node.op == Op::bit_cast && is_float(node.operands[0]->low.type.dtype);
  if (all_known && !is_sum && node.max_ulp == 0 && !is_unsorted && !reads_nan_bits) {
    std::vector<Range> ranges;
    for (const Tensor& result : evaluate(node.op, node.attributes, lows(node.operands)))
      ranges.push_back(known(result));
    return ranges;
  }
  if (has_trait(node.op, kTakesIndices) && !node.operands[1]->all_known()) return ranges_of_unknown_indices(node);
  if (has_trait(node.op, kElementwise)) return {elementwise_range(node)};
  if (node.op == Op::argmax || node.op == Op::argmin) return {arg_range(node)};
  if (has_trait(node.op, kOrder)) return order_range(node);
  if (is_increasing(node.op, node.operands[0]->low.type.dtype)) return {increasing_range(node)};
  return {accumulated_range(node)};
}

}  // namespace millrace::reference
