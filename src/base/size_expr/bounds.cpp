// SPDX-License-Identifier: Apache-2.0
// Computes bounds by interval arithmetic and divisors by gcd, bottom-up from the symbols' facts.
#include <algorithm>
#include <map>
#include <numeric>

#include "base/size_expr/is_saturated.h"
#include "base/size_expr/node.h"

namespace millrace {
namespace {

using saturating::floor_divide;
using saturating::kMax;
using saturating::kMin;

std::int64_t lower_sum(std::int64_t a, std::int64_t b) { return a == kMin || b == kMin ? kMin : saturating::add(a, b); }
std::int64_t upper_sum(std::int64_t a, std::int64_t b) { return a == kMax || b == kMax ? kMax : saturating::add(a, b); }

SizeBounds product_bounds(const SizeBounds& a, const SizeBounds& b) {
  const auto [lower, upper] =
      std::minmax({saturating::multiply(a.lower, b.lower), saturating::multiply(a.lower, b.upper),
                   saturating::multiply(a.upper, b.lower), saturating::multiply(a.upper, b.upper)});
  return {lower, upper};
}

/// The bounds of the atom, which is the symbol divided by its multiple.
SizeBounds symbol_bounds(const Dim& symbol) {
  const std::int64_t multiple = symbol_multiple(symbol);
  const std::int64_t lower = saturating::negate(floor_divide(saturating::negate(symbol.min()), multiple));
  return {lower, floor_divide(symbol.max(), multiple)};
}

SizeBounds division_bounds(const SizeBounds& dividend, SizeBounds divisor) {
  divisor.lower = std::max<std::int64_t>(divisor.lower, 1);  // evaluate() rejects smaller divisors
  divisor.upper = std::max(divisor.upper, divisor.lower);
  return {floor_divide(dividend.lower, dividend.lower >= 0 ? divisor.upper : divisor.lower),
          floor_divide(dividend.upper, dividend.upper >= 0 ? divisor.lower : divisor.upper)};
}

using Factors = std::vector<std::shared_ptr<const Atom>>;

bool factors_less(const Factors& a, const Factors& b) { return compare_factors(Term{1, a}, Term{1, b}) < 0; }

using Polynomial = std::map<Factors, std::int64_t, decltype(&factors_less)>;

/// Substitutes x = l + t for each factor x of the term, where l is the minimum of x, and adds the expanded products to
/// `sum`. In the keys of `sum`, each t has the name of its x.
void add_shifted(Polynomial& sum, const Term& term) {
  for (std::uint32_t kept = 0; kept < 1U << term.factors.size(); ++kept) {
    std::int64_t coefficient = term.coefficient;
    Factors factors;
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      if ((kept >> i & 1) != 0) {
        factors.push_back(term.factors[i]);
      } else {
        coefficient = saturating::multiply(coefficient, term.factors[i]->bounds.lower);
      }
    }
    std::int64_t& total = sum[std::move(factors)];
    total = saturating::add(total, coefficient);
  }
}

/// Finds tighter bounds if terms share factors: 8*m*m - 8*m is never below 0 for m >= 1, because with m = 1 + t it is
/// 8*t*t + 8*t. Returns no bounds for long sums and for sums without a product.
SizeBounds shifted_bounds(const Sum& sum) {
  constexpr std::size_t kMaxTerms = 16, kMaxFactors = 4;
  const auto is_short = [](const Term& term) {
    return term.factors.size() <= kMaxFactors && !saturating::is_end(term.coefficient) &&
           std::ranges::none_of(term.factors, [](const auto& x) { return saturating::is_end(x->bounds.lower); });
  };
  const bool has_product = std::ranges::any_of(sum.terms, [](const Term& term) { return term.factors.size() > 1; });
  if (sum.terms.size() < 2 || sum.terms.size() > kMaxTerms || !has_product) return {};
  if (!std::ranges::all_of(sum.terms, is_short)) return {};
  Polynomial shifted(&factors_less);
  for (const Term& term : sum.terms) add_shifted(shifted, term);
  SizeBounds bounds{sum.constant, sum.constant};
  for (const auto& [factors, coefficient] : shifted) {
    if (saturating::is_end(coefficient)) return {};
    SizeBounds product{coefficient, coefficient};
    for (const auto& x : factors) {
      product = product_bounds(product, {0, saturating::subtract(x->bounds.upper, x->bounds.lower)});
    }
    bounds = {lower_sum(bounds.lower, product.lower), upper_sum(bounds.upper, product.upper)};
  }
  return bounds;
}

}  // namespace

std::int64_t common_divisor(std::int64_t a, std::int64_t b) {
  return saturating::is_end(a) || saturating::is_end(b) ? 1 : std::gcd(a, b);
}

SizeBounds derive_bounds(const Atom& atom) {
  if (atom.kind == AtomKind::kSymbol) return symbol_bounds(atom.symbol);
  SizeBounds bounds = derive_bounds(atom.operands[0]);
  if (atom.kind == AtomKind::kFloorDiv) return division_bounds(bounds, derive_bounds(atom.operands[1]));
  for (const SizeExpr& operand : atom.operands) {
    const auto [lower, upper] = derive_bounds(operand);
    const bool is_min = atom.kind == AtomKind::kMin;
    bounds.lower = is_min ? std::min(bounds.lower, lower) : std::max(bounds.lower, lower);
    bounds.upper = is_min ? std::min(bounds.upper, upper) : std::max(bounds.upper, upper);
  }
  return bounds;
}

SizeBounds derive_bounds(const SizeExpr& expr) {
  const Sum* sum = SizeExprAccess::node(expr);
  if (sum == nullptr) return {expr.constant(), expr.constant()};
  SizeBounds bounds{sum->constant, sum->constant};
  for (const Term& term : sum->terms) {
    SizeBounds product{term.coefficient, term.coefficient};
    for (const auto& factor : term.factors) product = product_bounds(product, factor->bounds);
    bounds = {lower_sum(bounds.lower, product.lower), upper_sum(bounds.upper, product.upper)};
  }
  const SizeBounds shifted = shifted_bounds(*sum);
  return {std::max(bounds.lower, shifted.lower), std::min(bounds.upper, shifted.upper)};
}

std::int64_t SizeExpr::lower_bound() const { return derive_bounds(*this).lower; }
std::int64_t SizeExpr::upper_bound() const { return derive_bounds(*this).upper; }

std::int64_t SizeExpr::known_multiple() const {
  const Sum* sum = SizeExprAccess::node(*this);
  std::int64_t multiple = common_divisor(0, sum == nullptr ? constant_ : sum->constant);
  if (sum == nullptr) return multiple;
  for (const Term& term : sum->terms) multiple = common_divisor(multiple, term.coefficient);
  return multiple;
}

bool is_saturated(const SizeExpr& expr) {
  const Sum* sum = SizeExprAccess::node(expr);
  if (sum == nullptr) return saturating::is_end(expr.constant());
  return saturating::is_end(sum->constant) ||
         std::ranges::any_of(sum->terms, [](const Term& term) { return saturating::is_end(term.coefficient); });
}

}  // namespace millrace
