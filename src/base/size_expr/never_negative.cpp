// SPDX-License-Identifier: Apache-2.0
// Proves that a size with quotients is never negative, for the checks of byte ranges and shapes.
#include "base/size_expr/never_negative.h"

#include <algorithm>

#include "base/size_expr/is_saturated.h"
#include "base/size_expr/node.h"

namespace millrace {
namespace {

/// A term such as -8 * floor_div(x, 2): its coefficient is a multiple of the divisor.
bool is_whole_part(const Term& term) {
  if (term.factors.size() != 1 || term.factors[0]->kind != AtomKind::kFloorDiv) return false;
  const SizeExpr& divisor = term.factors[0]->operands[1];
  return divisor.is_constant() && divisor.constant() >= 1 && !saturating::is_end(term.coefficient) &&
         term.coefficient % divisor.constant() == 0;
}

/// A lower bound of the value. Improves on lower_bound() by writing divisor * floor_div(x, divisor) as x - r, with r
/// from 0 to divisor - 1.
std::int64_t min_value(const SizeExpr& expr) {
  const std::int64_t lower = expr.lower_bound();
  const Sum* sum = SizeExprAccess::node(expr);
  if (sum == nullptr || lower >= 0) return lower;
  const auto found = std::ranges::find_if(sum->terms, is_whole_part);
  if (found == sum->terms.end()) return lower;
  const std::vector<SizeExpr>& operands = found->factors[0]->operands;
  const std::int64_t divisor = operands[1].constant(), times = found->coefficient / divisor;
  Sum rest = *sum;
  rest.terms.erase(rest.terms.begin() + (found - sum->terms.begin()));
  const SizeExpr undivided = finish(std::move(rest)) + operands[0] * times;
  if (is_saturated(undivided)) return lower;
  const std::int64_t min_undivided = min_value(undivided);
  if (min_undivided == saturating::kMin) return lower;
  return std::max(lower, saturating::subtract(min_undivided, times > 0 ? saturating::multiply(times, divisor - 1) : 0));
}

}  // namespace

bool is_never_negative(const SizeExpr& expr) { return min_value(expr) >= 0; }

}  // namespace millrace
