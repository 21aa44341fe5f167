// SPDX-License-Identifier: Apache-2.0
// Computes with the sizes that a model derives from its dims, so that they stay expressions and need no tensors.
#include "graph/import/onnx/sizes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace millrace {

bool OnnxSizes::are_numbers() const { return std::ranges::all_of(values, &SizeExpr::is_constant); }

TensorType OnnxSizes::type() const { return {dtype, Shape(std::vector<SizeExpr>(shape.begin(), shape.end()))}; }

std::optional<std::pair<OnnxSizes, OnnxSizes>> with_common_divisor(const OnnxSizes& a, const OnnxSizes& b) {
  const std::int64_t divisor = std::lcm(a.divisor, b.divisor);  // both are small
  if (divisor > kMaxSizeDivisor) return {};
  std::pair result(a, b);
  for (OnnxSizes* sizes : {&result.first, &result.second}) {
    for (SizeExpr& value : sizes->values) value = value * (divisor / sizes->divisor);
    sizes->divisor = divisor;
  }
  return result;
}

std::optional<OnnxSizes> reduced(OnnxSizes sizes) {
  std::int64_t common = sizes.divisor;
  for (const SizeExpr& value : sizes.values) common = std::gcd(common, value.known_multiple());
  for (SizeExpr& value : sizes.values) value = floor_div(value, common);
  sizes.divisor /= common;
  if (sizes.divisor > kMaxSizeDivisor) return {};
  return sizes;
}

std::optional<SizeFraction> as_fraction(double number) {
  if (!std::isfinite(number) || std::fabs(number) >= 0x1p40) return {};
  for (std::int64_t denominator = 1; denominator <= kMaxSizeDivisor; denominator *= 2) {
    const double numerator = number * static_cast<double>(denominator);
    if (numerator == std::nearbyint(numerator)) return SizeFraction{static_cast<std::int64_t>(numerator), denominator};
  }
  return {};
}

bool holds_exactly(const SizeExpr& size, DType dtype) {
  if (!size.is_constant()) return true;
  using Range = std::numeric_limits<std::int32_t>;
  using Ends = std::numeric_limits<std::int64_t>;
  const std::int64_t number = size.constant();
  if (dtype == DType::kI32) return number >= Range::min() && number <= Range::max();
  return number > Ends::min() && number < Ends::max();
}

std::optional<bool> decide_equal(const SizeExpr& a, const SizeExpr& b) {
  const SizeExpr difference = a - b;
  if (difference.is_constant()) return difference.constant() == 0;
  if (difference.lower_bound() > 0 || difference.upper_bound() < 0) return false;
  return {};
}

std::optional<bool> decide_less(const SizeExpr& a, const SizeExpr& b) {
  const SizeExpr difference = a - b;
  if (difference.upper_bound() < 0) return true;
  if (difference.lower_bound() >= 0) return false;
  return {};
}

std::optional<SizeExpr> truncated_div(const SizeExpr& a, const SizeExpr& b) {
  if (a.is_constant() && b.is_constant()) {
    const bool overflows = a.constant() == std::numeric_limits<std::int64_t>::min() && b.constant() == -1;
    if (b.constant() == 0 || overflows) return {};
    return SizeExpr(a.constant() / b.constant());
  }
  if (b.lower_bound() < 1) return {};
  if (a.lower_bound() >= 0) return floor_div(a, b);
  if (a.upper_bound() <= 0) return 0 - floor_div(0 - a, b);
  return {};
}

namespace {

/// The number k with k * b == a, found for one binding of the symbols and checked for all; empty if there is none.
std::optional<std::int64_t> find_factor(const SizeExpr& a, const SizeExpr& b) {
  std::map<std::string, Dim> symbols;
  if (!a.collect_symbols(symbols).ok() || !b.collect_symbols(symbols).ok()) return {};
  SymbolValues values;
  for (const auto& [name, dim] : symbols) values[name] = std::max<std::int64_t>(dim.min(), 1) * dim.multiple();
  const Result<std::int64_t> dividend = a.evaluate(values), divisor = b.evaluate(values);
  if (!dividend.ok() || !divisor.ok() || *divisor == 0) return {};
  const std::int64_t factor = *dividend / *divisor;
  return factor * b == a ? std::optional(factor) : std::nullopt;
}

}  // namespace

std::optional<SizeExpr> exact_quotient(const std::vector<SizeExpr>& dims, const SizeExpr& divisor) {
  if (dims.size() > kMaxRank || divisor.is(0)) return {};
  // Tries each subset of the dims as the ones that remain. The product of the others must be a multiple of the divisor.
  for (unsigned remaining = 0; remaining < 1u << dims.size(); ++remaining) {
    SizeExpr quotient = 1, others = 1;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      SizeExpr& side = (remaining >> d & 1u) != 0 ? quotient : others;
      side = side * dims[d];
    }
    if (const std::optional<std::int64_t> factor = find_factor(others, divisor)) return *factor * quotient;
  }
  return {};
}

std::optional<SizeExpr> floor_mod(const SizeExpr& a, const SizeExpr& b) {
  if (b.lower_bound() < 1) return {};
  return a - floor_div(a, b) * b;
}

std::optional<std::vector<std::int64_t>> broadcast_extents(std::span<const std::int64_t> a,
                                                           std::span<const std::int64_t> b) {
  std::vector<std::int64_t> shape(std::max(a.size(), b.size()));
  for (std::size_t d = 0; d < shape.size(); ++d) {  // counted from the last dim
    const std::int64_t x = d < a.size() ? a[a.size() - 1 - d] : 1;
    const std::int64_t y = d < b.size() ? b[b.size() - 1 - d] : 1;
    if (x != y && x != 1 && y != 1) return {};
    shape[shape.size() - 1 - d] = x == 1 ? y : x;
  }
  return shape;
}

OnnxSizes broadcast_sizes(const OnnxSizes& sizes, const std::vector<std::int64_t>& shape) {
  OnnxSizes result{sizes.dtype, shape, {}, sizes.divisor};
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t index = rest % shape[d];
      rest /= shape[d];
      const std::size_t from_last = shape.size() - 1 - d;
      if (from_last >= sizes.rank()) continue;
      const std::int64_t extent = sizes.shape[sizes.rank() - 1 - from_last];
      at += (extent == 1 ? 0 : index) * stride;
      stride *= extent;
    }
    result.values.push_back(sizes.values[static_cast<std::size_t>(at)]);
  }
  return result;
}

std::optional<OnnxSizes> combine_sizes(const OnnxSizes& a, const OnnxSizes& b, DType dtype,
                                       const SizeFunction& function) {
  const std::optional<std::vector<std::int64_t>> shape = broadcast_extents(a.shape, b.shape);
  if (!shape) return {};
  std::int64_t count = 1;
  for (const std::int64_t extent : *shape) count = saturating::multiply(count, extent);
  if (count > static_cast<std::int64_t>(kMaxSizes)) return {};
  const OnnxSizes x = broadcast_sizes(a, *shape), y = broadcast_sizes(b, *shape);
  constexpr std::size_t kMaxTerms = 8 * kMaxSizes;  // over all elements: the cost of an op grows with them
  OnnxSizes result{dtype, *shape, {}};
  std::size_t num_terms = 0;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    if (!holds_exactly(x.values[i], a.dtype) || !holds_exactly(y.values[i], b.dtype)) return {};
    std::optional<SizeExpr> value = function(x.values[i], y.values[i]);
    if (!value || value->is_too_long() || !holds_exactly(*value, dtype)) return {};
    num_terms += value->num_terms();
    if (num_terms > kMaxTerms) return {};
    result.values.push_back(*std::move(value));
  }
  return result;
}

}  // namespace millrace
