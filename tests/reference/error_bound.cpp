// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <set>

#include "tests/reference/evaluate.h"

namespace millrace::reference {
namespace {

struct Precision {
  int fraction_bits, min_exponent;
};

Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {10, -14};
    case DType::kBF16:
      return {7, -126};
    case DType::kF32:
      return {23, -126};
    default:
      return {52, -1022};
  }
}

/// What the oracle needs of an op's accumulators.
struct Accumulator {
  int fraction_bits;              // with the implicit one
  long double unit_roundoff;      // of one addition
  long double maximum, smallest;  // above 0
};

Accumulator accumulator_of(DType dtype) {
  if (dtype == DType::kF64) return {53, 0x1p-53L, 0x1.fffffffffffffp1023L, 0x1p-1074L};
  return {24, 0x1p-24L, 0x1.fffffep127L, 0x1p-149L};
}

/// A tensor of f64, each finite element mapped; infinities and NaN are 1, for sums of the others.
template <class F>
Tensor map_finite(const Tensor& tensor, F&& f) {
  std::vector<long double> values = read_all<long double>(tensor);
  for (long double& value : values) value = std::isfinite(value) ? f(value) : 1.0L;
  return make_tensor(DType::kF64, tensor.extents(), values);
}

template <class F>
std::vector<long double> evaluate_mapped(Op op, const Attributes& attributes, std::span<const Tensor> operands, F&& f) {
  std::vector<Tensor> mapped;
  for (const Tensor& operand : operands) mapped.push_back(map_finite(operand, f));
  return read_all<long double>(evaluate(op, attributes, mapped)[0]);
}

/// x = odd * 2^exponent.
struct OddPart {
  long double odd;
  int exponent;
};

OddPart odd_part(long double x) {
  if (x == 0) return {1, 0};
  int exponent = 0;
  auto bits = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 64));
  exponent -= 64;
  const int zeros = std::countr_zero(bits);
  return {static_cast<long double>(bits >> zeros), exponent + zeros};
}

/// The exponent of a power of two that every finite element is a multiple of.
int granularity(const Tensor& tensor) {
  int min_exponent = 1000;
  for (const long double value : read_all<long double>(tensor)) {
    if (std::isfinite(value) && value != 0) min_exponent = std::min(min_exponent, odd_part(value).exponent);
  }
  return min_exponent;
}

/// Rounding errors of equal factors share a sign, so that they do not cancel.
bool is_repetitive(const Tensor& tensor) {
  const std::vector<long double> values = read_all<long double>(tensor);
  return 2 * std::set<long double>(values.begin(), values.end()).size() < values.size();
}

/// The roundings that a product of `points` factors is held to. With random signs they grow like a root: |error| <= c *
/// sqrt(n) * u * |product| fails with a probability below 2 n exp(-c^2 / 2) (Higham and Mary, SIAM J. Sci. Comput.
/// 41(5), 2019, theorem 2.4).
long double roundings_of_product(std::int64_t points, const Tensor& factors) {
  constexpr long double kConfidence = 7;
  const auto roundings = static_cast<long double>(points + 2);
  return is_repetitive(factors) ? roundings : std::min(roundings, kConfidence * std::sqrt(roundings));
}

bool is_product(Op op) { return has_trait(op, kMultiplies); }

/// Points that one result element accumulates.
std::int64_t num_points(Op op, const Attributes& attributes, std::span<const Tensor> operands) {
  const Extents x = operands[0].extents();
  std::int64_t points = 1;
  if (op == Op::dot) {
    for (const std::int64_t d : std::get<DotAttrs>(attributes).x_contract) points *= x[from_front(d, x.size())];
  } else if (op == Op::conv2d) {
    const Extents weights = operands[1].extents();
    points = weights[1] * weights[2] * weights[3];
  } else if (op == Op::cumulative_sum || op == Op::cumulative_prod) {
    points = x[from_front(std::get<ScanAttrs>(attributes).axis, x.size())];
  } else if (op == Op::avg_pool2d) {
    points = count(std::get<Pool2dAttrs>(attributes).window);
  } else {
    for (const std::int64_t d : std::get<ReduceAttrs>(attributes).axes) points *= x[from_front(d, x.size())];
  }
  return points;
}

long double num_roundings(Op op, const Attributes& attributes, std::span<const Tensor> operands) {
  const std::int64_t points = num_points(op, attributes, operands);
  if (is_product(op)) return roundings_of_product(points, operands[0]);
  return roundings_of_sum(points, has_trait(op, kContraction) ? kProductBlock : kSumBlock);
}

}  // namespace

long double roundings_of_sum(std::int64_t n, std::int64_t block) {
  constexpr std::int64_t kJoins = 16;
  std::int64_t levels = 1;
  for (std::int64_t max_terms = block; max_terms < n; max_terms *= block) ++levels;
  return static_cast<long double>(std::min(n, block * levels + kJoins) + 2);
}

long double ulp_at(DType dtype, long double value) {
  const Precision precision = precision_of(dtype);
  const int exponent = value == 0 ? precision.min_exponent : std::ilogb(value);
  return std::ldexp(1.0L, std::max(exponent, precision.min_exponent) - precision.fraction_bits);
}

std::vector<bool> is_exact_in_any_order(Op op, const Attributes& attributes, std::span<const Tensor> operands) {
  const Accumulator accumulator = accumulator_of(operands[0].type.dtype);
  const auto magnitude = [](long double x) { return std::fabs(x); };
  std::vector<bool> exact;
  if (!is_product(op)) {
    // Partial sums are multiples of one power of two, and small enough to be kept.
    const bool divides = op == Op::reduce_mean || op == Op::avg_pool2d;
    int grain = 0;
    for (const Tensor& operand : operands) grain += granularity(operand);
    const long double max_sum = std::ldexp(1.0L, grain + accumulator.fraction_bits);
    for (const long double sum : evaluate_mapped(op, attributes, operands, magnitude)) {
      exact.push_back(!divides && sum <= max_sum && max_sum > accumulator.smallest);
    }
    return exact;
  }
  // No partial product has more bits than that of all, or lies beyond those of all small or all large factors.
  const auto odd = evaluate_mapped(op, attributes, operands, [](long double x) { return odd_part(x).odd; });
  const auto large =
      evaluate_mapped(op, attributes, operands, [](long double x) { return std::max(std::fabs(x), 1.0L); });
  const auto small = evaluate_mapped(op, attributes, operands,
                                     [](long double x) { return x == 0 ? 1 : std::min(std::fabs(x), 1.0L); });
  for (std::size_t i = 0; i < odd.size(); ++i) {
    exact.push_back(odd[i] <= std::ldexp(1.0L, accumulator.fraction_bits) && large[i] <= accumulator.maximum &&
                    small[i] >= accumulator.smallest / accumulator.unit_roundoff);
  }
  return exact;
}

std::vector<long double> rounding_bound(Op op, const Attributes& attributes, std::span<const Tensor> operands) {
  const DType dtype = operands[0].type.dtype;
  const Accumulator accumulator = accumulator_of(dtype);
  const long double roundings = num_roundings(op, attributes, operands);
  std::vector<long double> bounds =
      evaluate_mapped(op, attributes, operands, [](long double x) { return std::fabs(x); });
  const std::vector<long double> results = read_all<long double>(evaluate(op, attributes, operands)[0]);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i] > accumulator.maximum) {  // some orders overflow
      bounds[i] = std::numeric_limits<long double>::infinity();
      continue;
    }
    const long double rounded = roundings * accumulator.unit_roundoff * bounds[i];
    bounds[i] = rounded + ulp_at(dtype, std::isfinite(results[i]) ? std::fabs(results[i]) + rounded : bounds[i]);
  }
  if (!is_product(op)) return bounds;
  const auto points = static_cast<long double>(num_points(op, attributes, operands));
  // Each partial product may lose the smallest step of its dtype, which factors above 1 then enlarge.
  const auto raised =
      evaluate_mapped(op, attributes, operands, [](long double x) { return std::max(std::fabs(x), 1.0L); });
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    bounds[i] += raised[i] > accumulator.maximum ? std::numeric_limits<long double>::infinity()
                                                 : points * accumulator.smallest * raised[i];
  }
  return bounds;
}

std::vector<long double> accumulation_bound(Op op, const Attributes& attributes, std::span<const Tensor> operands) {
  const DType dtype = operands.empty() ? DType::kI64 : operands[0].type.dtype;
  if (!has_trait(op, kAccumulates) || !is_float(dtype)) return {};
  std::vector<long double> bounds = rounding_bound(op, attributes, operands);
  const std::vector<bool> exact = is_exact_in_any_order(op, attributes, operands);
  const std::vector<long double> results = read_all<long double>(evaluate(op, attributes, operands)[0]);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    // Infinities and NaN that the operands bring are the same in every order.
    if (exact[i] || (!std::isfinite(results[i]) && std::isfinite(bounds[i]))) bounds[i] = 0;
  }
  return bounds;
}

long double ulp_distance(DType dtype, long double found, long double expected) {
  if (std::isnan(found) || std::isnan(expected)) {
    return std::isnan(found) && std::isnan(expected) ? 0 : std::numeric_limits<long double>::infinity();
  }
  if (found == expected) return 0;
  if (std::isinf(found) || std::isinf(expected)) return std::numeric_limits<long double>::infinity();
  return std::fabs(found - expected) / ulp_at(dtype, expected);
}

}  // namespace millrace::reference
