// SPDX-License-Identifier: Apache-2.0
// Computes a size from the values bound to its symbols, and checks every fact on the way.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/size_expr/node.h"
#include "base/size_expr/promise_text.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

__extension__ typedef __int128 Wide;

/// Evaluates one whole expression; error messages show it together with its bindings. Intermediate values are wide: the
/// dividend n + 127 may leave int64 when the quotient does not.
struct Evaluation {
  const SizeExpr& whole;
  const SymbolValues& values;

  Result<std::int64_t> value() const {
    MILLRACE_TRY_ASSIGN(const Wide wide, sum(whole));
    if (wide < saturating::kMin || wide > saturating::kMax) return overflow();
    return static_cast<std::int64_t>(wide);
  }

  Result<Wide> sum(const SizeExpr& expr) const {
    const Sum* sum = SizeExprAccess::node(expr);
    const std::int64_t constant = sum == nullptr ? expr.constant() : sum->constant;
    if (saturating::is_end(constant)) return overflow();
    Wide total = constant;
    if (sum == nullptr) return total;
    for (const Term& term : sum->terms) {
      MILLRACE_TRY_ASSIGN(const Wide value, product(term));
      if (__builtin_add_overflow(total, value, &total)) return overflow();
    }
    return total;
  }

  Result<Wide> product(const Term& term) const {
    Wide total = term.coefficient;
    bool is_lost = saturating::is_end(term.coefficient), is_zero = false;
    for (const auto& factor : term.factors) {
      MILLRACE_TRY_ASSIGN(const Wide value, atom(*factor));
      is_lost |= __builtin_mul_overflow(total, value, &total);
      is_zero |= value == 0;
    }
    // A factor of 0 makes the product 0, even if the coefficient or a partial product overflowed.
    if (is_zero) return Wide{0};
    return is_lost ? Result<Wide>(overflow()) : total;
  }

  Result<Wide> atom(const Atom& atom) const {
    switch (atom.kind) {
      case AtomKind::kSymbol:
        return symbol(atom.symbol);
      case AtomKind::kFloorDiv:
        return division(atom.operands[0], atom.operands[1]);
      case AtomKind::kMin:
      case AtomKind::kMax:
        break;
    }
    MILLRACE_TRY_ASSIGN(Wide best, sum(atom.operands[0]));
    for (std::size_t i = 1; i < atom.operands.size(); ++i) {
      MILLRACE_TRY_ASSIGN(const Wide value, sum(atom.operands[i]));
      best = atom.kind == AtomKind::kMin ? std::min(best, value) : std::max(best, value);
    }
    return best;
  }

  Result<Wide> symbol(const Dim& symbol) const {
    const auto found = values.find(symbol.name());
    if (found == values.end()) {
      return invalid_argument(fmt::format("size {}: symbol '{}' has no value, bound: {}; bind it", whole.to_text(),
                                          symbol.name(), bindings()));
    }
    // Facts are checked here too, not only when a symbol is bound. They were used to simplify the expression, so a
    // value that breaks one would silently give a wrong result.
    if (symbol.allows(found->second)) return Wide{found->second / symbol_multiple(symbol)};
    return invalid_argument(fmt::format("size {}: symbol '{}' is {}, expected {}; bind a value that keeps the promise",
                                        whole.to_text(), symbol.name(), found->second, promise_text(symbol)));
  }

  Result<Wide> division(const SizeExpr& a, const SizeExpr& b) const {
    MILLRACE_TRY_ASSIGN(const Wide dividend, sum(a));
    MILLRACE_TRY_ASSIGN(const Wide divisor, sum(b));
    if (divisor >= 1) return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
    return invalid_argument(
        fmt::format("size {}: divisor {} is {} with {}, expected at least 1; bind other values", whole.to_text(),
                    b.to_text(), static_cast<std::int64_t>(std::max<Wide>(divisor, saturating::kMin)), bindings()));
  }

  Status overflow() const {
    return invalid_argument(
        fmt::format("size {}: overflows int64 with {}, expected a value below 2^63; bind smaller "
                    "values",
                    whole.to_text(), bindings()));
  }

  /// "m = 4, n = 5"
  std::string bindings() const {
    PrintableNames bound;
    for (const auto& [name, value] : values) bound.add(fmt::format("{} = {}", name, value));
    return values.empty() ? "nothing" : bound.text();
  }
};

}  // namespace

Result<std::int64_t> SizeExpr::evaluate(const SymbolValues& values) const {
  return guard_allocations([&] { return Evaluation{*this, values}.value(); });
}

}  // namespace millrace
