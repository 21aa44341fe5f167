// SPDX-License-Identifier: Apache-2.0
// Bounds by interval arithmetic and divisibility by gcd, from the symbols' facts upwards. The ends of int64 are the
// infinities of an interval.
#include <algorithm>
#include <numeric>

#include "base/size_expr_node.h"

namespace millrace {
namespace {

using saturating::floor_divide;
using saturating::kMax;
using saturating::kMin;

std::int64_t lower_sum(std::int64_t a, std::int64_t b) { return a == kMin || b == kMin ? kMin : saturating::add(a, b); }
std::int64_t upper_sum(std::int64_t a, std::int64_t b) { return a == kMax || b == kMax ? kMax : saturating::add(a, b); }

/// A divisor of x * y, given divisors of both: their product, or the larger one when that leaves int64.
std::int64_t multiple_of_product(std::int64_t a, std::int64_t b) {
  const std::int64_t product = saturating::multiply(a, b);
  return product == kMax ? std::max(a, b) : product;
}

std::int64_t multiple_of_constant(std::int64_t value) { return common_divisor(0, value); }

SizeFacts product_facts(const SizeFacts& a, const SizeFacts& b) {
  const auto [lower, upper] =
      std::minmax({saturating::multiply(a.lower, b.lower), saturating::multiply(a.lower, b.upper),
                   saturating::multiply(a.upper, b.lower), saturating::multiply(a.upper, b.upper)});
  return {lower, upper, multiple_of_product(a.multiple, b.multiple)};
}

SizeFacts sum_facts(const SizeFacts& a, const SizeFacts& b) {
  return {lower_sum(a.lower, b.lower), upper_sum(a.upper, b.upper), common_divisor(a.multiple, b.multiple)};
}

SizeFacts constant_facts(std::int64_t value) { return {value, value, multiple_of_constant(value)}; }

SizeFacts symbol_facts(const Dim& symbol) {
  const std::int64_t multiple = std::max<std::int64_t>(symbol.multiple(), 1);
  const auto down = [multiple](std::int64_t value) {
    return saturating::is_end(value) ? value : floor_divide(value, multiple) * multiple;
  };
  const std::int64_t lower = saturating::negate(down(saturating::negate(symbol.min())));
  return {lower, down(symbol.max()), multiple};
}

SizeFacts division_facts(const SizeExpr& dividend, const SizeExpr& divisor) {
  const SizeFacts a = derive_facts(dividend);
  SizeFacts b = derive_facts(divisor);
  b.lower = std::max<std::int64_t>(b.lower, 1);  // a smaller divisor does not evaluate
  b.upper = std::max(b.upper, b.lower);
  SizeFacts facts;
  facts.lower = floor_divide(a.lower, a.lower >= 0 ? b.upper : b.lower);
  facts.upper = floor_divide(a.upper, a.upper >= 0 ? b.lower : b.upper);
  // A multiple of 0 belongs to the dividend 0.
  const bool exact = divisor.is_constant() && a.multiple % b.lower == 0;
  facts.multiple = exact ? a.multiple / b.lower : 1;
  return facts;
}

}  // namespace

std::int64_t common_divisor(std::int64_t a, std::int64_t b) {
  return saturating::is_end(a) || saturating::is_end(b) ? 1 : std::gcd(a, b);
}

SizeFacts derive_facts(const Atom& atom) {
  if (atom.kind == AtomKind::kSymbol) return symbol_facts(atom.symbol);
  if (atom.kind == AtomKind::kFloorDiv) return division_facts(atom.operands[0], atom.operands[1]);
  const bool is_min = atom.kind == AtomKind::kMin;
  SizeFacts facts = derive_facts(atom.operands[0]);
  for (const SizeExpr& operand : atom.operands) {
    const SizeFacts other = derive_facts(operand);
    facts.lower = is_min ? std::min(facts.lower, other.lower) : std::max(facts.lower, other.lower);
    facts.upper = is_min ? std::min(facts.upper, other.upper) : std::max(facts.upper, other.upper);
    facts.multiple = common_divisor(facts.multiple, other.multiple);
  }
  return facts;
}

SizeFacts derive_facts(const Term& term) {
  SizeFacts facts = constant_facts(term.coefficient);
  for (const auto& factor : term.factors) facts = product_facts(facts, factor->facts);
  return facts;
}

SizeFacts derive_facts(const SizeExpr& expr) {
  const Sum* sum = SizeExprAccess::node(expr);
  if (sum == nullptr) return constant_facts(expr.constant());
  SizeFacts facts = constant_facts(sum->constant);
  for (const Term& term : sum->terms) facts = sum_facts(facts, derive_facts(term));
  return facts;
}

std::int64_t SizeExpr::lower_bound() const { return is_constant() ? constant_ : derive_facts(*this).lower; }
std::int64_t SizeExpr::upper_bound() const { return is_constant() ? constant_ : derive_facts(*this).upper; }
std::int64_t SizeExpr::known_multiple() const { return derive_facts(*this).multiple; }

}  // namespace millrace
