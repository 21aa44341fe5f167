// SPDX-License-Identifier: Apache-2.0
// Builds min and max in canonical form: nested ones are flattened, redundant operands dropped, common factors moved
// out.
#include <algorithm>

#include "base/size_expr/node.h"

namespace millrace {
namespace {

/// Flattens: min(4 * min(a, b), c) becomes min(4 * a, 4 * b, c); the same for max.
void append_operands(std::vector<SizeExpr>& operands, AtomKind kind, const SizeExpr& expr) {
  const Sum sum = to_sum(expr);
  if (sum.constant == 0 && sum.terms.size() == 1 && sum.terms[0].coefficient >= 1 && sum.terms[0].factors.size() == 1 &&
      sum.terms[0].factors[0]->kind == kind) {
    const Term& term = sum.terms[0];
    for (const SizeExpr& inner : term.factors[0]->operands) operands.push_back(inner * term.coefficient);
  } else {
    operands.push_back(expr);
  }
}

/// Divides all operands by their common factor and returns it.
std::int64_t take_common_factor(std::vector<SizeExpr>& operands) {
  std::int64_t common = 0;
  for (const SizeExpr& operand : operands) common = common_divisor(common, operand.known_multiple());
  for (SizeExpr& operand : operands) operand = floor_div(operand, common);
  return common;
}

bool is_never_above(const SizeExpr& a, const SizeExpr& b) { return (b - a).lower_bound() >= 0; }

/// Whether `other` makes `operand` redundant.
bool is_dominated(AtomKind kind, const SizeExpr& operand, const SizeExpr& other) {
  return kind == AtomKind::kMin ? is_never_above(other, operand) : is_never_above(operand, other);
}

SizeExpr extremum(AtomKind kind, const SizeExpr& a, const SizeExpr& b) {
  std::vector<SizeExpr> operands;
  append_operands(operands, kind, a);
  append_operands(operands, kind, b);
  std::sort(operands.begin(), operands.end(), form_less);
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  // Erase operands one at a time: if two of different form always have equal values, each makes the other redundant.
  for (std::size_t i = 0; i < operands.size();) {
    const bool dominated = std::any_of(operands.begin(), operands.end(), [&](const SizeExpr& other) {
      return &other != &operands[i] && is_dominated(kind, operands[i], other);
    });
    if (dominated) {
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (operands.size() == 1) return operands[0];
  const SizeExpr common = take_common_factor(operands);
  return common * finish(Atom{kind, Dim(""), std::move(operands), {}});
}

}  // namespace

SizeExpr min(const SizeExpr& a, const SizeExpr& b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
  return extremum(AtomKind::kMin, a, b);
}

SizeExpr max(const SizeExpr& a, const SizeExpr& b) {
  if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
  return extremum(AtomKind::kMax, a, b);
}

}  // namespace millrace
