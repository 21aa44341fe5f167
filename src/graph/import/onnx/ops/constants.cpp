// SPDX-License-Identifier: Apache-2.0
// Imports ops that make elements: constants, fills and ranges.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "graph/import/onnx/ops/shape_helpers.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/shape.inc"
#undef MILLRACE_ONNX_OP

namespace {

template <class T>
OnnxConstant list_of(const std::vector<T>& elements) {
  return constant_of(Shape{static_cast<std::int64_t>(elements.size())}, std::span<const T>(elements));
}

}  // namespace

Result<OnnxResults> import_constant(OnnxNodeContext& node) {
  if (node.has_attribute("value_int")) {
    MILLRACE_TRY_ASSIGN(const std::int64_t value, node.integer_attribute("value_int"));
    return constant_of(Shape(), std::span(&value, 1));
  }
  if (node.has_attribute("value_float")) {
    MILLRACE_TRY_ASSIGN(const double value, node.number_attribute("value_float"));
    const auto rounded = static_cast<float>(value);
    return constant_of(Shape(), std::span(&rounded, 1));
  }
  if (node.has_attribute("value_ints")) {
    MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> values, node.integers_attribute("value_ints"));
    MILLRACE_TRY(node.reserve_elements(values->size()));
    return list_of(*values);
  }
  if (node.has_attribute("value_floats")) {
    MILLRACE_TRY_ASSIGN(const std::optional<std::vector<double>> values, node.numbers_attribute("value_floats"));
    MILLRACE_TRY(node.reserve_elements(values->size()));
    return list_of(std::vector<float>(values->begin(), values->end()));
  }
  if (node.has_attribute("sparse_value")) {
    MILLRACE_TRY_ASSIGN(OnnxValue value, node.sparse_attribute("sparse_value"));
    return value;
  }
  for (const std::string_view name : {"value_string", "value_strings"}) {
    if (node.has_attribute(name)) return node.attribute_error(name, "elements of STRING are not supported here");
  }
  MILLRACE_TRY_ASSIGN(OnnxValue value, node.tensor_attribute("value"));
  return value;
}

/// Without a value, the elements are f32 zeros.
Result<OnnxResults> import_constant_of_shape(OnnxNodeContext& node) {
  const float zero = 0;
  OnnxConstant element = constant_of(Shape{1}, std::span(&zero, 1));
  if (node.has_attribute("value")) {
    MILLRACE_TRY_ASSIGN(const OnnxValue value, node.tensor_attribute("value"));
    if (value.constant() == nullptr || !value.constant()->type.shape.num_elements().is(1)) {
      return node.attribute_error("value", "is not a single number");
    }
    element = *value.constant();
  }
  MILLRACE_TRY_ASSIGN(Shape shape, shape_of_sizes(node, 0));
  for (const SizeExpr& dim : shape.dims()) {
    if (dim.upper_bound() < 0) return node.operand_error(0, fmt::format("has {}, expected 0 or more", dim.to_text()));
  }
  const SizeExpr count = shape.num_elements();
  if (shape.is_static() && count.constant() >= 0 && count.constant() <= static_cast<std::int64_t>(kMaxSizes)) {
    return filled_constant(element.type.dtype, shape, {element.bytes.begin(), element.bytes.end()});
  }
  const Tensor scalar = node.graph().constant_shared({element.type.dtype, {}}, element.bytes);
  return broadcast_to(scalar, std::move(shape));
}

namespace {

/// Start, limit and delta of a float range must be below this, so that they can be multiplied by the maximum divisor
/// without overflow.
constexpr double kMaxRangeNumber = 0x1p31;

/// Whether all of the fractions that are constants are small.
bool are_small(const OnnxSizes& fractions) {
  return std::ranges::all_of(fractions.values, [&](const SizeExpr& value) {
    const double limit = kMaxRangeNumber * static_cast<double>(fractions.divisor);
    return !value.is_constant() || std::fabs(static_cast<double>(value.constant())) < limit;
  });
}

/// A range of floats whose length depends on symbols. Elements are computed in `precision`.
Result<OnnxResults> symbolic_range(OnnxNodeContext& node, DType dtype, DType precision) {
  MILLRACE_TRY_ASSIGN(const OnnxSizes start, node.fractions(0));
  MILLRACE_TRY_ASSIGN(const OnnxSizes limit, node.fractions(1));
  MILLRACE_TRY_ASSIGN(const double delta, node.number(2));
  const auto ends = with_common_divisor(start, limit);
  const std::optional<SizeFraction> step = as_fraction(delta);
  const bool are_known = ends && step && step->numerator != 0 && start.values.size() == 1 && limit.values.size() == 1;
  if (!are_known || !are_small(start) || !are_small(limit) || std::fabs(delta) >= kMaxRangeNumber) {
    return invalid_argument(": start, limit and delta are not fractions below 2^31 with a small common denominator");
  }
  const SizeExpr distance = (ends->second.values[0] - ends->first.values[0]) * step->denominator;
  const std::int64_t by = step->numerator * ends->first.divisor;
  const SizeExpr count = max(by > 0 ? ceil_div(distance, by) : ceil_div(0 - distance, -by), 0);
  MILLRACE_TRY_ASSIGN(const Tensor first, node.tensor(0));
  const Tensor steps = iota(node.graph(), precision, {count}, 0) * delta;
  return cast(steps + cast(reshape(first, {}), precision), dtype);
}

/// The dtype in which a range of 16-bit floats is computed: f32 or, from version 27 on, the one that stash_type names.
Result<DType> range_precision(OnnxNodeContext& node, DType dtype) {
  DType stash = DType::kF32;
  if (node.version() >= 27) {
    MILLRACE_TRY_ASSIGN(stash, node.dtype_attribute("stash_type", stash));
  }
  if (size_bytes(dtype) > 2) return dtype;
  if (stash == DType::kF32 || stash == DType::kF64) return stash;
  return node.attribute_error("stash_type", fmt::format("found {}, expected f32 or f64", to_text(stash)));
}

Result<OnnxResults> float_range(OnnxNodeContext& node, DType dtype) {
  MILLRACE_TRY_ASSIGN(const DType precision, range_precision(node, dtype));
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> first, node.known(0));
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> last, node.known(1));
  if (!first || !last) return symbolic_range(node, dtype, precision);
  MILLRACE_TRY_ASSIGN(const double start, node.number(0));
  MILLRACE_TRY_ASSIGN(const double limit, node.number(1));
  MILLRACE_TRY_ASSIGN(const double delta, node.number(2));
  if (delta == 0) return node.operand_error(2, "is 0, expected a step other than 0");
  const double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count < 0x1p48)) return invalid_argument(fmt::format(": asks for {} elements, expected less than 2^48", count));
  const Tensor steps = iota(node.graph(), precision, {static_cast<std::int64_t>(count)}, 0) * delta;
  return cast(steps + start, dtype);
}

/// A range of i16, whose elements are never sizes. It is computed in i64, because i16 steps could wrap.
Result<OnnxResults> narrow_range(OnnxNodeContext& node, DType dtype) {
  MILLRACE_TRY_ASSIGN(const std::int64_t start, node.integer(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t limit, node.integer(1));
  MILLRACE_TRY_ASSIGN(const std::int64_t delta, node.integer(2));
  if (delta == 0) return node.operand_error(2, "is 0, expected a step other than 0");
  const SizeExpr count = max(ceil_div(delta > 0 ? limit - start : start - limit, std::abs(delta)), 0);
  return cast(iota(node.graph(), DType::kI64, {count}, 0) * delta + start, dtype);
}

}  // namespace

/// start, start + delta, ... The number of elements must follow from sizes or constants.
Result<OnnxResults> import_range(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  if (is_float(type.dtype)) return float_range(node, type.dtype);
  if (node.version() >= 27) node.ignore_attribute("stash_type");  // only for 16-bit floats
  if (type.dtype == DType::kI16) return narrow_range(node, type.dtype);
  MILLRACE_TRY_ASSIGN(const SizeExpr start, node.size(0));
  MILLRACE_TRY_ASSIGN(const SizeExpr limit, node.size(1));
  MILLRACE_TRY_ASSIGN(const std::int64_t delta, node.integer(2));
  if (delta == 0 || delta == std::numeric_limits<std::int64_t>::min()) {
    return node.operand_error(2, fmt::format("is {}, expected a step other than 0 and -2^63", delta));
  }
  const SizeExpr distance = delta > 0 ? limit - start : start - limit;
  const SizeExpr count = max(ceil_div(distance, std::abs(delta)), 0);
  if (count.is_constant() && count.constant() <= static_cast<std::int64_t>(kMaxSizes)) {
    OnnxSizes sizes = OnnxSizes::vector({}, type.dtype);
    for (std::int64_t i = 0; i < count.constant(); ++i) sizes.values.push_back(start + i * delta);
    sizes.shape = {count.constant()};
    return sizes;
  }
  const Tensor steps = iota(node.graph(), type.dtype, {count}, 0) * delta;
  return steps + cast(size_of(node.graph(), start), type.dtype);
}

}  // namespace millrace
