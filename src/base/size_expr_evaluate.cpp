// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/promise_text.h"
#include "base/size_expr_node.h"

namespace millrace {
namespace {

/// Evaluates one whole expression; kept beside its parts, because a message names it and its bindings.
struct Evaluation {
  const SizeExpr& whole;
  const SymbolValues& values;

  Result<std::int64_t> sum(const SizeExpr& expr) const {
    const Sum* sum = SizeExprAccess::node(expr);
    std::int64_t total = sum == nullptr ? expr.constant() : sum->constant;
    if (saturating::is_end(total)) return overflow();
    if (sum == nullptr) return total;
    for (const Term& term : sum->terms) {
      MILLRACE_TRY_ASSIGN(const std::int64_t value, product(term));
      if (__builtin_add_overflow(total, value, &total)) return overflow();
    }
    return total;
  }

  Result<std::int64_t> product(const Term& term) const {
    std::int64_t total = term.coefficient;
    if (saturating::is_end(total)) return overflow();
    for (const auto& factor : term.factors) {
      MILLRACE_TRY_ASSIGN(const std::int64_t value, atom(*factor));
      if (__builtin_mul_overflow(total, value, &total)) return overflow();
    }
    return total;
  }

  Result<std::int64_t> atom(const Atom& atom) const {
    switch (atom.kind) {
      case AtomKind::kSymbol:
        return symbol(atom.symbol);
      case AtomKind::kFloorDiv:
        return division(atom.operands[0], atom.operands[1]);
      case AtomKind::kMin:
      case AtomKind::kMax:
        break;
    }
    MILLRACE_TRY_ASSIGN(std::int64_t best, sum(atom.operands[0]));
    for (std::size_t i = 1; i < atom.operands.size(); ++i) {
      MILLRACE_TRY_ASSIGN(const std::int64_t value, sum(atom.operands[i]));
      best = atom.kind == AtomKind::kMin ? std::min(best, value) : std::max(best, value);
    }
    return best;
  }

  Result<std::int64_t> symbol(const Dim& symbol) const {
    const auto found = values.find(symbol.name());
    if (found == values.end()) {
      return invalid_argument(fmt::format("size {}: symbol '{}' has no value, bound: {}; bind it", whole.to_text(),
                                          symbol.name(), bindings()));
    }
    // Checked here too, because the form was simplified by the facts and would give a wrong value quietly.
    if (symbol.allows(found->second)) return found->second / symbol_multiple(symbol);
    return invalid_argument(fmt::format("size {}: symbol '{}' is {}, expected {}; bind a value that keeps the promise",
                                        whole.to_text(), symbol.name(), found->second, promise_text(symbol)));
  }

  Result<std::int64_t> division(const SizeExpr& a, const SizeExpr& b) const {
    MILLRACE_TRY_ASSIGN(const std::int64_t dividend, sum(a));
    MILLRACE_TRY_ASSIGN(const std::int64_t divisor, sum(b));
    if (divisor >= 1) return saturating::floor_divide(dividend, divisor);
    return invalid_argument(fmt::format("size {}: divisor {} is {} with {}, expected at least 1; bind other values",
                                        whole.to_text(), b.to_text(), divisor, bindings()));
  }

  Status overflow() const {
    return invalid_argument(
        fmt::format("size {}: overflows int64 with {}, expected a value below 2^63; bind smaller "
                    "values",
                    whole.to_text(), bindings()));
  }

  /// "m = 4, n = 5"
  std::string bindings() const {
    std::string text;
    for (const auto& [name, value] : values) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
    return text.empty() ? "nothing" : text;
  }
};

}  // namespace

Result<std::int64_t> SizeExpr::evaluate(const SymbolValues& values) const {
  return Evaluation{*this, values}.sum(*this);
}

}  // namespace millrace
