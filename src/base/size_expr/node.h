// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/size_expr.h"

/// The parts of a SizeExpr; only src/base/size_expr/*.cpp includes this header.
namespace millrace {

/// Bounds over all bindings that satisfy the symbols' facts. The ends of int64 stand for infinity.
struct SizeBounds {
  std::int64_t lower = saturating::kMin;
  std::int64_t upper = saturating::kMax;
};

enum class AtomKind : std::uint8_t { kSymbol, kFloorDiv, kMin, kMax };

/// A symbol's atom is the symbol divided by its known multiple, so that `rows` is 128 * atom. An atom's operands are
/// divided by their common factor too. So every known multiple is visible as a coefficient, and division is exact
/// wherever the facts allow, without extra rules.
struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  Dim symbol{""};                  // kSymbol only
  std::vector<SizeExpr> operands;  // kFloorDiv: dividend, divisor; kMin, kMax: two or more, sorted by form
  SizeBounds bounds;               // derive_bounds() of the atom, computed once
};

/// `coefficient` times the product of `factors`. In a finished sum the factors are sorted and never empty.
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
/// The expression consisting of this one atom, or a constant if its bounds leave only one value.
SizeExpr finish(Atom);
/// The factor that turns a symbol's atom into the symbol; 1 for a Dim that `check` rejects.
std::int64_t symbol_multiple(const Dim&);

/// Orders by form: sums by their terms, constants last; terms by falling degree, then by factors.
std::strong_ordering compare_forms(const SizeExpr&, const SizeExpr&);
std::strong_ordering compare_forms(const Atom&, const Atom&);
/// Ignores the coefficients.
std::strong_ordering compare_factors(const Term&, const Term&);

SizeBounds derive_bounds(const SizeExpr&);
SizeBounds derive_bounds(const Atom&);
/// The greatest common divisor; gcd(0, b) is b. An end of int64 counts as 1, since nothing is known about a lost value.
std::int64_t common_divisor(std::int64_t a, std::int64_t b);

}  // namespace millrace
