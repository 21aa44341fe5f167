// SPDX-License-Identifier: Apache-2.0
// Sums and products: how any sum of products becomes the canonical one.
#include <algorithm>
#include <optional>

#include "base/size_expr_node.h"

namespace millrace {
namespace {

bool same_atom(const std::shared_ptr<const Atom>& a, const std::shared_ptr<const Atom>& b) {
  return compare_forms(*a, *b) == 0;
}

/// The x of min(x, 1), when x is one atom that is at least 0; null otherwise.
const Atom* indicated_atom(const Atom& atom) {
  if (atom.kind != AtomKind::kMin || atom.operands.size() != 2 || !atom.operands[1].is(1)) return nullptr;
  const Sum* sum = SizeExprAccess::node(atom.operands[0]);
  if (sum == nullptr || sum->constant != 0 || sum->terms.size() != 1) return nullptr;
  const Term& term = sum->terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1 || term.factors[0]->facts.lower < 0) return nullptr;
  return term.factors[0].get();
}

/// Sorts, and drops factors that cannot change the product: x * x is x for x in [0, 1], and x * min(x, 1) is x for
/// x >= 0. The second is how a buffer's extent, which must be 0 for an empty shape, becomes the plain product.
void normalize_factors(Term& term) {
  auto& factors = term.factors;
  std::sort(factors.begin(), factors.end(), [](const auto& a, const auto& b) { return compare_forms(*a, *b) < 0; });
  const auto repeats_bit = [](const auto& a, const auto& b) {
    return a->facts.lower >= 0 && a->facts.upper <= 1 && same_atom(a, b);
  };
  factors.erase(std::unique(factors.begin(), factors.end(), repeats_bit), factors.end());
  std::erase_if(factors, [&factors = std::as_const(factors)](const auto& factor) {
    const Atom* x = indicated_atom(*factor);
    return x != nullptr && std::any_of(factors.begin(), factors.end(), [x](const auto& other) {
             return other->kind != AtomKind::kMin && compare_forms(*other, *x) == 0;
           });
  });
}

void merge_equal_terms(Sum& sum) {
  for (Term& term : sum.terms) normalize_factors(term);
  std::stable_sort(sum.terms.begin(), sum.terms.end(),
                   [](const Term& a, const Term& b) { return compare_factors(a, b) < 0; });
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

/// The constant divisor of a division that leaves no remainder, as the facts tell; 0 for another atom.
std::int64_t exact_divisor(const Atom& atom) {
  if (atom.kind != AtomKind::kFloorDiv || !atom.operands[1].is_constant()) return 0;
  const std::int64_t divisor = atom.operands[1].constant();
  return divisor >= 1 && !saturating::is_end(divisor) && atom.operands[0].known_multiple() % divisor == 0 ? divisor : 0;
}

void append_product(Sum& sum, const Sum& a, const Sum& b);

/// Turn this: 9 * floor_div(x, 4) * y     (x a multiple of 4)
/// Into this: 2 * x * y + floor_div(x, 4) * y
std::optional<Sum> undo_exact_division(const Term& term) {
  for (std::size_t i = 0; i < term.factors.size(); ++i) {
    const std::int64_t divisor = exact_divisor(*term.factors[i]);
    if (divisor == 0 || saturating::is_end(term.coefficient) || term.coefficient / divisor == 0) continue;
    Term rest = term;
    rest.coefficient = term.coefficient / divisor;
    rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(i));
    Sum result;
    append_product(result, to_sum(term.factors[i]->operands[0]), Sum{0, {std::move(rest)}});
    if (term.coefficient % divisor != 0) result.terms.push_back({term.coefficient % divisor, term.factors});
    return result;
  }
  return std::nullopt;
}

/// Whether anything changed, so that terms may merge again.
bool undo_exact_divisions(Sum& sum) {
  bool changed = false;
  std::vector<Term> terms;
  for (Term& term : sum.terms) {
    if (std::optional<Sum> undone = undo_exact_division(term)) {
      changed = true;
      sum.constant = saturating::add(sum.constant, undone->constant);
      for (Term& part : undone->terms) terms.push_back(std::move(part));
    } else {
      terms.push_back(std::move(term));
    }
  }
  sum.terms = std::move(terms);
  return changed;
}

/// Appends a * b, not yet in canonical form.
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
  do {
    merge_equal_terms(sum);
  } while (undo_exact_divisions(sum));
  if (sum.terms.empty()) return sum.constant;
  return SizeExprAccess::make(std::make_shared<const Sum>(std::move(sum)));
}

SizeExpr finish(Atom atom) {
  atom.facts = derive_facts(atom);
  const SizeFacts& facts = atom.facts;
  // A symbol stays, whatever its facts, so that whoever binds it is checked.
  if (atom.kind != AtomKind::kSymbol && facts.lower == facts.upper && !saturating::is_end(facts.lower)) {
    return facts.lower;
  }
  return finish(Sum{0, {Term{1, {std::make_shared<const Atom>(std::move(atom))}}}});
}

SizeExpr::SizeExpr(const Dim& symbol) : SizeExpr(finish(Atom{AtomKind::kSymbol, symbol, {}, {}})) {}

SizeExpr SizeExpr::add_forms(const SizeExpr& a, const SizeExpr& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  Sum sum = to_sum(a);
  const Sum other = to_sum(b);
  sum.constant = saturating::add(sum.constant, other.constant);
  sum.terms.insert(sum.terms.end(), other.terms.begin(), other.terms.end());
  return finish(std::move(sum));
}

SizeExpr SizeExpr::multiply_forms(const SizeExpr& a, const SizeExpr& b) {
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  Sum sum;
  append_product(sum, to_sum(a), to_sum(b));
  return finish(std::move(sum));
}

}  // namespace millrace
