// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "millrace/base/dtype.h"
#include "millrace/base/shape.h"
#include "millrace/base/size_expr.h"

namespace millrace {

/// The maximum number of elements that are kept as sizes. Models compute shapes with far fewer.
inline constexpr std::size_t kMaxSizes = 1024;

/// Elements that follow from dims: what Shape returns, and what a model computes from it. Element i, in row-major
/// order, is values[i] / divisor. The divisor is 1 unless the dtype is a float.
struct OnnxSizes {
  DType dtype = DType::kI64;        // i32, i64, bool (0 or 1), f16, bf16, f32 or f64
  std::vector<std::int64_t> shape;  // one extent per dim; empty for a scalar
  std::vector<SizeExpr> values;
  std::int64_t divisor = 1;

  static OnnxSizes scalar(SizeExpr value, DType dtype = DType::kI64) { return {dtype, {}, {std::move(value)}}; }
  static OnnxSizes vector(std::vector<SizeExpr> values, DType dtype = DType::kI64) {
    return {dtype, {static_cast<std::int64_t>(values.size())}, std::move(values)};
  }
  std::size_t rank() const { return shape.size(); }
  bool are_numbers() const;
  bool are_floats() const { return is_float(dtype); }
  TensorType type() const;
};

/// The maximum divisor of sizes. Models scale by fractions with far smaller ones.
inline constexpr std::int64_t kMaxSizeDivisor = 4096;
/// Both with their least common divisor; empty if that is above the maximum.
std::optional<std::pair<OnnxSizes, OnnxSizes>> with_common_divisor(const OnnxSizes& a, const OnnxSizes& b);
/// The same fractions with the smallest divisor; empty if that is above the maximum.
std::optional<OnnxSizes> reduced(OnnxSizes sizes);

/// The number as a fraction, exactly: 0.25 is 1 / 4. Empty if the denominator is above 4096, as that of 0.1 is, or if
/// the number is not finite.
struct SizeFraction {
  std::int64_t numerator = 0, denominator = 1;
};
std::optional<SizeFraction> as_fraction(double number);

/// Whether a size without symbols is a number of `dtype` and has not saturated. True for sizes with symbols.
bool holds_exactly(const SizeExpr& size, DType dtype);
// Decisions about sizes: empty if they depend on the values of the dims.
std::optional<bool> decide_equal(const SizeExpr& a, const SizeExpr& b);
std::optional<bool> decide_less(const SizeExpr& a, const SizeExpr& b);

/// Quotient towards zero, as integers divide in ONNX. Empty if the signs are not known or the divisor may be 0.
std::optional<SizeExpr> truncated_div(const SizeExpr& a, const SizeExpr& b);
/// The size q with q * divisor == product of the dims; empty if the expressions do not show that there is one.
std::optional<SizeExpr> exact_quotient(const std::vector<SizeExpr>& dims, const SizeExpr& divisor);
/// Remainder with the sign of b, as in Python. Empty as for truncated_div.
std::optional<SizeExpr> floor_mod(const SizeExpr& a, const SizeExpr& b);

/// The NumPy broadcast of two shapes of numbers; empty if they do not fit.
std::optional<std::vector<std::int64_t>> broadcast_extents(std::span<const std::int64_t> a,
                                                           std::span<const std::int64_t> b);
/// The elements broadcast to the shape. Precondition: they fit.
OnnxSizes broadcast_sizes(const OnnxSizes& sizes, const std::vector<std::int64_t>& shape);

using SizeFunction = std::function<std::optional<SizeExpr>(const SizeExpr&, const SizeExpr&)>;
/// Applies the function to each pair of elements, with broadcasting. Empty if the shapes do not fit, if the function
/// returns nothing for a pair, or if the results have more than 8 * kMaxSizes terms in all. Ignores the divisors of
/// both operands; the divisor of the result is 1.
std::optional<OnnxSizes> combine_sizes(const OnnxSizes& a, const OnnxSizes& b, DType dtype,
                                       const SizeFunction& function);

}  // namespace millrace
