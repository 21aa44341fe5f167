// SPDX-License-Identifier: Apache-2.0
// Builds floor_div and ceil_div in canonical form. All rules follow from floor_div(q * b + r, b) == q + floor_div(r, b)
// for b >= 1: each moves the exactly divisible part into q, so that equal quotients get equal forms.
#include <algorithm>
#include <optional>

#include "base/size_expr/is_saturated.h"
#include "base/size_expr/node.h"

namespace millrace {
namespace {

SizeExpr division_atom(SizeExpr dividend, SizeExpr divisor) {
  return finish(Atom{AtomKind::kFloorDiv, Dim(""), {std::move(dividend), std::move(divisor)}, {}});
}

/// Removes the part of `sum` that `divisor` divides, and returns that part's quotient. The remainder in `sum` has
/// coefficients smaller in magnitude than the divisor, and a constant in [0, divisor).
Sum take_quotient(Sum& sum, std::int64_t divisor) {
  Sum quotient;
  quotient.constant = saturating::floor_divide(sum.constant, divisor);
  sum.constant = sum.constant % divisor + (sum.constant % divisor < 0 ? divisor : 0);
  for (Term& term : sum.terms) {
    quotient.terms.push_back({term.coefficient / divisor, term.factors});
    term.coefficient %= divisor;
  }
  std::erase_if(sum.terms, [](const Term& term) { return term.coefficient == 0; });
  return quotient;
}

/// Divides the remainder's coefficients and the divisor by their common factor. The constant is rounded down, which
/// cannot change the quotient: floor_div(4*n + 7, 8) is floor_div(n + 1, 2).
void reduce_fraction(Sum& sum, std::int64_t& divisor) {
  std::int64_t common = divisor;
  for (const Term& term : sum.terms) common = common_divisor(common, term.coefficient);
  for (Term& term : sum.terms) term.coefficient /= common;
  sum.constant /= common;
  divisor /= common;
}

/// Turn this: floor_div(floor_div(x, a) + y, b)
/// Into this: floor_div(x + y * a, a * b)
std::optional<SizeExpr> join_divisions(const Sum& sum, std::int64_t divisor) {
  const auto is_division = [](const Term& term) {
    return term.coefficient == 1 && term.factors.size() == 1 && term.factors[0]->kind == AtomKind::kFloorDiv &&
           term.factors[0]->operands[1].is_constant();
  };
  const auto found = std::find_if(sum.terms.begin(), sum.terms.end(), is_division);
  if (found == sum.terms.end()) return std::nullopt;
  const SizeExpr& x = found->factors[0]->operands[0];
  const std::int64_t inner_divisor = found->factors[0]->operands[1].constant();
  const std::int64_t joined = saturating::multiply(inner_divisor, divisor);
  Sum rest = sum;
  rest.terms.erase(rest.terms.begin() + (found - sum.terms.begin()));
  const SizeExpr dividend = x + finish(std::move(rest)) * inner_divisor;
  if (inner_divisor < 1 || saturating::is_end(joined)) return std::nullopt;
  return floor_div(dividend, joined);
}

SizeExpr divide_by_constant(const SizeExpr& dividend, std::int64_t divisor) {
  if (divisor == 1) return dividend;
  Sum remainder = to_sum(dividend);
  if (is_saturated(dividend) || saturating::is_end(divisor)) return division_atom(dividend, divisor);
  const SizeExpr quotient = finish(take_quotient(remainder, divisor));
  if (remainder.terms.empty()) return quotient;
  reduce_fraction(remainder, divisor);
  if (auto joined = join_divisions(remainder, divisor)) return quotient + *joined;
  return quotient + division_atom(finish(std::move(remainder)), divisor);
}

/// term / by, if the division leaves no remainder.
std::optional<Term> divide_term(const Term& term, const Term& by) {
  if (saturating::is_end(term.coefficient) || term.coefficient % by.coefficient != 0) return std::nullopt;
  Term quotient{term.coefficient / by.coefficient, term.factors};
  for (const auto& factor : by.factors) {
    const auto found = std::find_if(quotient.factors.begin(), quotient.factors.end(),
                                    [&](const auto& other) { return compare_forms(*other, *factor) == 0; });
    if (found == quotient.factors.end()) return std::nullopt;
    quotient.factors.erase(found);
  }
  return quotient;
}

/// Polynomial long division by the leading term; empty if it leaves a remainder.
std::optional<SizeExpr> divide_exactly(SizeExpr dividend, const SizeExpr& divisor) {
  // Dividing the sizes of two shapes takes one step per dim. The limit ends the loop if simplifying a product keeps
  // undoing a step.
  constexpr int kMaxSteps = 16;
  const Term leading = to_sum(divisor).terms.front();
  SizeExpr quotient;
  for (int step = 0; step < kMaxSteps; ++step) {
    if (dividend.is(0)) return quotient;
    if (dividend.is_constant()) return std::nullopt;
    std::optional<Term> part = divide_term(to_sum(dividend).terms.front(), leading);
    if (!part) return std::nullopt;
    const SizeExpr term = finish(Sum{0, {std::move(*part)}});
    quotient = quotient + term;
    dividend = dividend - term * divisor;
  }
  return std::nullopt;
}

/// Turn this: floor_div(4 * x + r, 4 * y)
/// Into this: floor_div(x + floor_div(r, 4), y)
SizeExpr divide_reduced(const Sum& dividend, const SizeExpr& divisor) {
  std::int64_t common = divisor.known_multiple();
  for (const Term& term : dividend.terms) common = common_divisor(common, term.coefficient);
  if (common == 1) return division_atom(finish(dividend), divisor);
  return floor_div(floor_div(finish(dividend), common), floor_div(divisor, common));
}

/// Precondition: divisor is not constant and is at least 1.
SizeExpr divide_by_positive(const SizeExpr& dividend, const SizeExpr& divisor) {
  Sum remainder = to_sum(dividend);
  const Sum by = to_sum(divisor);
  if (auto exact = divide_exactly(dividend, divisor)) return *exact;
  Sum quotient;
  if (by.terms.size() == 1 && by.constant == 0) {
    std::erase_if(remainder.terms, [&](const Term& term) {
      std::optional<Term> part = divide_term(term, by.terms[0]);
      if (part) quotient.terms.push_back(std::move(*part));
      return part.has_value();
    });
  }
  return finish(std::move(quotient)) + divide_reduced(remainder, divisor);
}

}  // namespace

SizeExpr floor_div(const SizeExpr& a, const SizeExpr& b) {
  if (b.is_constant() && b.constant() >= 1) {
    if (a.is_constant()) return saturating::floor_divide(a.constant(), b.constant());
    return divide_by_constant(a, b.constant());
  }
  if (!b.is_constant() && b.lower_bound() >= 1) return divide_by_positive(a, b);
  return division_atom(a, b);  // keep the division: evaluate reports a divisor below 1
}

// Not floor_div(a + b - 1, b), whose sum may leave int64 when the quotient does not. Both have the same form.
SizeExpr ceil_div(const SizeExpr& a, const SizeExpr& b) { return floor_div(a - 1, b) + 1; }

}  // namespace millrace
