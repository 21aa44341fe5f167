// SPDX-License-Identifier: Apache-2.0
// Sums and products: brings any sum of products into canonical form.
#include <algorithm>
#include <iterator>

#include "base/size_expr/node.h"

namespace millrace {
namespace {

/// Returns x for min(k * x, 1), where x is one atom that is at least 0; otherwise null. k is positive: for other k the
/// minimum would be k * x itself.
const Atom* indicated_atom(const Atom& atom) {
  if (atom.kind != AtomKind::kMin || atom.operands.size() != 2 || !atom.operands[1].is(1)) return nullptr;
  const Sum* sum = SizeExprAccess::node(atom.operands[0]);
  if (sum == nullptr || sum->constant != 0 || sum->terms.size() != 1) return nullptr;
  const Term& term = sum->terms[0];
  if (term.factors.size() != 1 || term.factors[0]->bounds.lower < 0) return nullptr;
  return term.factors[0].get();
}

/// Sorts the factors and drops those that cannot change the product: x * x is x for x in [0, 1], and x * min(x, 1) is x
/// for x >= 0. The second rule simplifies a buffer's extent to the plain product: it drops the factors min(x, 1), which
/// make the extent 0 for an empty shape.
void normalize_factors(Term& term) {
  auto& factors = term.factors;
  if (factors.size() < 2) return;
  std::sort(factors.begin(), factors.end(), [](const auto& a, const auto& b) { return compare_forms(*a, *b) < 0; });
  const auto repeats_bit = [](const auto& a, const auto& b) {
    return a->bounds.lower >= 0 && a->bounds.upper <= 1 && compare_forms(*a, *b) == 0;
  };
  factors.erase(std::unique(factors.begin(), factors.end(), repeats_bit), factors.end());
  const auto is_factor = [&factors](const Atom* x) {
    return x != nullptr &&
           std::any_of(factors.begin(), factors.end(), [x](const auto& f) { return compare_forms(*f, *x) == 0; });
  };
  std::vector<std::shared_ptr<const Atom>> kept;
  std::copy_if(factors.begin(), factors.end(), std::back_inserter(kept),
               [&](const auto& factor) { return !is_factor(indicated_atom(*factor)); });
  factors = std::move(kept);
}

void merge_equal_terms(Sum& sum) {
  for (Term& term : sum.terms) normalize_factors(term);
  std::sort(sum.terms.begin(), sum.terms.end(), [](const Term& a, const Term& b) { return compare_factors(a, b) < 0; });
  std::vector<Term> merged;
  for (Term& term : sum.terms) {
    if (term.factors.empty()) {
      sum.constant = saturating::add(sum.constant, term.coefficient);
    } else if (!merged.empty() && compare_factors(merged.back(), term) == 0) {
      merged.back().coefficient = saturating::add(merged.back().coefficient, term.coefficient);
    } else {
      merged.push_back(std::move(term));
    }
  }
  std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
  sum.terms = std::move(merged);
}

SizeExpr make(Sum sum) {
  if (sum.terms.empty()) return sum.constant;
  return SizeExprAccess::make(std::make_shared<const Sum>(std::move(sum)));
}

/// Merges two canonical sums, which needs no sorting. This matters for the offsets of a concat: long sums that each
/// extend the previous one by one term.
Sum add_sums(const Sum& a, const Sum& b) {
  Sum sum{saturating::add(a.constant, b.constant), {}};
  sum.terms.reserve(a.terms.size() + b.terms.size());
  auto left = a.terms.begin();
  for (const Term& right : b.terms) {
    while (left != a.terms.end() && compare_factors(*left, right) < 0) sum.terms.push_back(*left++);
    if (left == a.terms.end() || compare_factors(*left, right) != 0) {
      sum.terms.push_back(right);
      continue;
    }
    const std::int64_t coefficient = saturating::add(left->coefficient, right.coefficient);
    if (coefficient != 0) sum.terms.push_back({coefficient, left->factors});
    ++left;
  }
  sum.terms.insert(sum.terms.end(), left, a.terms.end());
  return sum;
}

/// Multiplies a canonical sum by a constant; the terms stay sorted.
Sum scale(Sum sum, std::int64_t by) {
  if (by == 0) return {};
  sum.constant = saturating::multiply(sum.constant, by);
  for (Term& term : sum.terms) term.coefficient = saturating::multiply(term.coefficient, by);
  return sum;
}

/// Appends a * b; the result is not canonical yet.
void append_product(Sum& sum, const Sum& a, const Sum& b) {
  const auto scaled = [&sum](const Term& term, std::int64_t by) {
    sum.terms.push_back({saturating::multiply(term.coefficient, by), term.factors});
  };
  sum.constant = saturating::add(sum.constant, saturating::multiply(a.constant, b.constant));
  for (const Term& term : a.terms) scaled(term, b.constant);
  for (const Term& term : b.terms) scaled(term, a.constant);
  for (const Term& left : a.terms) {
    for (const Term& right : b.terms) {
      scaled(left, right.coefficient);
      auto& factors = sum.terms.back().factors;
      factors.insert(factors.end(), right.factors.begin(), right.factors.end());
    }
  }
}

}  // namespace

Sum to_sum(const SizeExpr& expr) {
  if (const Sum* sum = SizeExprAccess::node(expr)) return *sum;
  return {expr.constant(), {}};
}

SizeExpr finish(Sum sum) {
  merge_equal_terms(sum);
  return make(std::move(sum));
}

SizeExpr finish(Atom atom) {
  atom.bounds = derive_bounds(atom);
  const auto [lower, upper] = atom.bounds;
  // Keep a symbol even if only one value fits its facts, so that its binding is checked, and keep a division that may
  // fail.
  const bool may_fold = atom.kind == AtomKind::kMin || atom.kind == AtomKind::kMax ||
                        (atom.kind == AtomKind::kFloorDiv && atom.operands[1].lower_bound() >= 1);
  if (may_fold && lower == upper) return lower;
  return finish(Sum{0, {Term{1, {std::make_shared<const Atom>(std::move(atom))}}}});
}

std::int64_t symbol_multiple(const Dim& symbol) { return symbol.multiple() == 0 ? 1 : symbol.multiple(); }

SizeExpr::SizeExpr(const Dim& symbol)
    : SizeExpr(finish(Atom{AtomKind::kSymbol, symbol, {}, {}}) * symbol_multiple(symbol)) {}

std::size_t SizeExpr::num_terms() const {
  return is_constant() ? 1 : node_->terms.size() + (node_->constant == 0 ? 0 : 1);
}

SizeExpr SizeExpr::add_forms(const SizeExpr& a, const SizeExpr& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return make(add_sums(to_sum(a), to_sum(b)));
}

SizeExpr SizeExpr::multiply_forms(const SizeExpr& a, const SizeExpr& b) {
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  if (a.is_constant()) return make(scale(to_sum(b), a.constant()));
  if (b.is_constant()) return make(scale(to_sum(a), b.constant()));
  Sum sum;
  append_product(sum, to_sum(a), to_sum(b));
  return finish(std::move(sum));
}

}  // namespace millrace
