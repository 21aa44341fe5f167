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

/// What holds for every binding that keeps the symbols' facts. `multiple` divides the value; 0 for the constant 0.
struct SizeFacts {
  std::int64_t lower = saturating::kMin;
  std::int64_t upper = saturating::kMax;
  std::int64_t multiple = 1;
};

enum class AtomKind : std::uint8_t { kSymbol, kFloorDiv, kMin, kMax };

struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  Dim symbol{""};                  // kSymbol only
  std::vector<SizeExpr> operands;  // kFloorDiv: dividend, divisor; kMin, kMax: two or more, sorted by form
  SizeFacts facts;                 // computed once, from the parts
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
/// The expression that is this one atom, or a constant when the facts leave one value.
SizeExpr finish(Atom);

/// Orders by form: sums by their terms, constants last; terms by falling degree, then by factors.
std::strong_ordering compare_forms(const SizeExpr&, const SizeExpr&);
std::strong_ordering compare_forms(const Atom&, const Atom&);
/// Ignores the coefficients.
std::strong_ordering compare_factors(const Term&, const Term&);

SizeFacts derive_facts(const SizeExpr&);
SizeFacts derive_facts(const Atom&);
SizeFacts derive_facts(const Term&);
/// The greatest common divisor; gcd(0, b) is b. An end of int64 counts as 1, as nothing is known of a lost value.
std::int64_t common_divisor(std::int64_t a, std::int64_t b);

}  // namespace millrace
