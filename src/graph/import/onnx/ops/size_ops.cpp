// SPDX-License-Identifier: Apache-2.0
// Applies elementwise ops to sizes.
#include "graph/import/onnx/ops/size_ops.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace millrace {
namespace {

using MaybeSize = std::optional<SizeExpr>;
using MaybeSizes = std::optional<OnnxSizes>;

MaybeSize as_size(std::optional<bool> decision) {
  return decision ? MaybeSize(SizeExpr(*decision ? 1 : 0)) : std::nullopt;
}
std::optional<bool> opposite(std::optional<bool> decision) {
  return decision ? std::optional(!*decision) : std::nullopt;
}

/// A product can have as many terms as the product of its factors' numbers of terms.
MaybeSize product(const SizeExpr& a, const SizeExpr& b) {
  constexpr std::size_t kMaxTerms = 500;
  return a.num_terms() * b.num_terms() <= kMaxTerms ? MaybeSize(a * b) : std::nullopt;
}

/// How an op of two operands treats divisors and dtypes.
enum class SizeOpKind {
  kSum,       // on fractions with one divisor, which the result keeps
  kDecision,  // compares fractions with one divisor; the result is a bool
  kLogic,     // on bools
  kInteger,   // on integers only
};
struct SizeOp {
  std::string_view name;
  SizeOpKind kind;
  MaybeSize (*function)(const SizeExpr&, const SizeExpr&) = nullptr;
};

constexpr SizeOp kSizeOps[] = {
    {"Add", SizeOpKind::kSum, [](const SizeExpr& a, const SizeExpr& b) { return MaybeSize(a + b); }},
    {"And", SizeOpKind::kLogic, [](const SizeExpr& a, const SizeExpr& b) { return MaybeSize(a * b); }},
    {"Div", SizeOpKind::kInteger, truncated_div},
    {"Equal", SizeOpKind::kDecision, [](const SizeExpr& a, const SizeExpr& b) { return as_size(decide_equal(a, b)); }},
    {"Greater", SizeOpKind::kDecision, [](const SizeExpr& a, const SizeExpr& b) { return as_size(decide_less(b, a)); }},
    {"GreaterOrEqual", SizeOpKind::kDecision,
     [](const SizeExpr& a, const SizeExpr& b) { return as_size(opposite(decide_less(a, b))); }},
    {"Less", SizeOpKind::kDecision, [](const SizeExpr& a, const SizeExpr& b) { return as_size(decide_less(a, b)); }},
    {"LessOrEqual", SizeOpKind::kDecision,
     [](const SizeExpr& a, const SizeExpr& b) { return as_size(opposite(decide_less(b, a))); }},
    {"Max", SizeOpKind::kSum, [](const SizeExpr& a, const SizeExpr& b) { return MaybeSize(max(a, b)); }},
    {"Min", SizeOpKind::kSum, [](const SizeExpr& a, const SizeExpr& b) { return MaybeSize(min(a, b)); }},
    {"Mod", SizeOpKind::kInteger, floor_mod},
    {"Mul", SizeOpKind::kInteger, product},
    {"Or", SizeOpKind::kLogic, [](const SizeExpr& a, const SizeExpr& b) { return MaybeSize(max(a, b)); }},
    {"Sub", SizeOpKind::kSum, [](const SizeExpr& a, const SizeExpr& b) { return MaybeSize(a - b); }},
};

/// The product of fractions.
MaybeSizes multiply(const OnnxSizes& a, const OnnxSizes& b) {
  MaybeSizes result = combine_sizes(a, b, a.dtype, product);
  if (!result) return {};
  result->divisor = a.divisor * b.divisor;  // both are at most kMaxSizeDivisor
  return reduced(*std::move(result));
}

/// The quotient as fractions. Empty if a number is divided by a symbol.
MaybeSizes divide(const OnnxSizes& a, const OnnxSizes& b) {
  if (!b.are_numbers()) {
    // 2 * n / n is a number nevertheless.
    MaybeSizes quotient = combine_sizes(a, b, a.dtype, [](const SizeExpr& x, const SizeExpr& y) {
      const SizeExpr whole = y.lower_bound() > 0 ? floor_div(x, y) : SizeExpr();
      return whole * y == x && y.lower_bound() > 0 ? MaybeSize(whole) : std::nullopt;
    });
    if (!quotient || a.divisor != b.divisor) return {};
    return quotient;
  }
  OnnxSizes inverse = b;
  inverse.divisor = 1;
  for (const SizeExpr& value : b.values) {
    if (value.constant() == 0 || std::abs(value.constant()) > kMaxSizeDivisor) return {};
    inverse.divisor = std::lcm(inverse.divisor, std::abs(value.constant()));
    if (inverse.divisor > kMaxSizeDivisor) return {};
  }
  for (SizeExpr& value : inverse.values) value = inverse.divisor / value.constant() * b.divisor;
  return multiply(a, inverse);
}

MaybeSizes combine_floats(const SizeOp& op, const OnnxSizes& a, const OnnxSizes& b) {
  if (op.name == "Mul") return multiply(a, b);
  if (op.name == "Div") return divide(a, b);
  if (op.kind != SizeOpKind::kSum && op.kind != SizeOpKind::kDecision) return {};
  const auto both = with_common_divisor(a, b);
  if (!both) return {};
  const bool is_decision = op.kind == SizeOpKind::kDecision;
  MaybeSizes result = combine_sizes(both->first, both->second, is_decision ? DType::kBool : a.dtype, op.function);
  if (!result || is_decision) return result;
  result->divisor = both->first.divisor;
  return reduced(*std::move(result));
}

/// Rounds a fraction to an integer in the way that `op` names. Empty if the result is not known.
MaybeSize round_size(std::string_view op, const SizeExpr& value, std::int64_t divisor) {
  if (op == "Floor") return floor_div(value, divisor);
  if (op == "Ceil") return ceil_div(value, divisor);
  if (op == "Round" && divisor % 2 == 1) return floor_div(2 * value + divisor, 2 * divisor);  // no ties
  if (op == "Truncate" && value.lower_bound() >= 0) return floor_div(value, divisor);
  if (op == "Truncate" && value.upper_bound() <= 0) return ceil_div(value, divisor);
  return {};
}

MaybeSizes round_sizes(std::string_view op, OnnxSizes sizes) {
  for (SizeExpr& value : sizes.values) {
    const MaybeSize rounded = round_size(op, value, sizes.divisor);
    if (!rounded) return {};
    value = *rounded;
  }
  sizes.divisor = 1;
  return sizes;
}

}  // namespace

bool has_size_op(std::string_view op) { return std::ranges::find(kSizeOps, op, &SizeOp::name) != std::end(kSizeOps); }

MaybeSizes combine_by(std::string_view op, const OnnxSizes& a, const OnnxSizes& b) {
  const auto* found = std::ranges::find(kSizeOps, op, &SizeOp::name);
  if (found == std::end(kSizeOps) || a.dtype != b.dtype) return {};
  if (a.are_floats()) return combine_floats(*found, a, b);
  const bool is_bool = a.dtype == DType::kBool;
  if (is_bool != (found->kind == SizeOpKind::kLogic) && !(is_bool && op == "Equal")) return {};
  return combine_sizes(a, b, found->kind == SizeOpKind::kDecision ? DType::kBool : a.dtype, found->function);
}

MaybeSizes apply_by(std::string_view op, OnnxSizes sizes) {
  if (op == "Floor" || op == "Ceil" || op == "Round") {
    return sizes.are_floats() ? round_sizes(op, std::move(sizes)) : std::nullopt;
  }
  const bool is_bool = sizes.dtype == DType::kBool;
  if (op == "Not" ? !is_bool : op != "Neg" || is_bool) return {};
  for (SizeExpr& value : sizes.values) value = (is_bool ? 1 : 0) - value;
  return sizes;
}

MaybeSizes cast_sizes(OnnxSizes sizes, DType to) {
  if (to == DType::kF32 || to == DType::kF64) {
    if (sizes.are_numbers() && !sizes.are_floats()) return {};  // a constant tensor rounds as in the model
  } else if (to != DType::kI32 && to != DType::kI64) {
    return {};
  } else if (sizes.are_floats()) {
    MaybeSizes whole = round_sizes("Truncate", std::move(sizes));
    if (!whole) return {};
    sizes = *std::move(whole);
  }
  for (const SizeExpr& value : sizes.values) {
    if (!holds_exactly(value, to)) return {};
  }
  sizes.dtype = to;
  return sizes;
}

}  // namespace millrace
