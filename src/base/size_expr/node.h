// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/size_expr.h"

/// What a SizeExpr is made of; for src/base/size_expr_*.cpp only.
namespace millrace {

/// Hold for every binding that keeps the symbols' facts. The ends of int64 are the infinities.
struct SizeBounds {
  std::int64_t lower = saturating::kMin;
  std::int64_t upper = saturating::kMax;
};

enum class AtomKind : std::uint8_t { kSymbol, kFloorDiv, kMin, kMax };

/// A symbol's atom is the symbol divided by what it is known to be a multiple of, so that `rows` is 128 * atom.
/// Together with dividing out what the operands of an atom have in common, this makes every known multiple visible as a
/// coefficient, and division exact where the facts say so, without rules of its own.
struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  Dim symbol{""};                  // kSymbol only
  std::vector<SizeExpr> operands;  // kFloorDiv: dividend, divisor; kMin, kMax: two or more, sorted by form
  SizeBounds bounds;               // computed once, from the parts
};

/// `coefficient` * the product of `factors`, which are sorted and never empty in a finished sum.
struct Term {
  std::int64_t coefficient = 1;
  std::vector<std::shared_ptr<const Atom>> factors;
};

/// A finished sum has sorted terms with different factors, no zero coefficient, and at least one term.
struct SizeExpr::Node {
  std::int64_t constant = 0;
  std::vector<Term> terms;
};

struct SizeExprAccess {
  static const SizeExpr::Node* node(const SizeExpr& expr) { return expr.node_.get(); }
  static SizeExpr make(std::shared_ptr<const SizeExpr::Node> node) { return SizeExpr(std::move(node)); }
};

using Sum = SizeExpr::Node;

Sum to_sum(const SizeExpr&);
/// Brings any sum into canonical form.
SizeExpr finish(Sum);
/// The expression that is this one atom, or a constant when its bounds leave one value.
SizeExpr finish(Atom);
/// What a symbol's atom is multiplied by to give the symbol; 1 for a Dim that `check` refuses.
std::int64_t symbol_multiple(const Dim&);

/// Orders by form: sums by their terms, constants last; terms by falling degree, then by factors.
std::strong_ordering compare_forms(const SizeExpr&, const SizeExpr&);
std::strong_ordering compare_forms(const Atom&, const Atom&);
/// Ignores the coefficients.
std::strong_ordering compare_factors(const Term&, const Term&);

SizeBounds derive_bounds(const SizeExpr&);
SizeBounds derive_bounds(const Atom&);
/// The greatest common divisor; that of 0 and b is b. An end of int64 counts as 1, as nothing is known of a lost value.
std::int64_t common_divisor(std::int64_t a, std::int64_t b);

}  // namespace millrace
