// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/size_expr_node.h"

namespace millrace {
namespace {

/// min(min(a, b), c) is min(a, b, c), and so for max.
void append_operands(std::vector<SizeExpr>& operands, AtomKind kind, const SizeExpr& expr) {
  const Sum* sum = SizeExprAccess::node(expr);
  if (sum != nullptr && sum->constant == 0 && sum->terms.size() == 1 && sum->terms[0].coefficient == 1 &&
      sum->terms[0].factors.size() == 1 && sum->terms[0].factors[0]->kind == kind) {
    const auto& inner = sum->terms[0].factors[0]->operands;
    operands.insert(operands.end(), inner.begin(), inner.end());
  } else {
    operands.push_back(expr);
  }
}

bool is_never_above(const SizeExpr& a, const SizeExpr& b) { return (b - a).lower_bound() >= 0; }

/// Whether `other` makes `operand` superfluous.
bool is_dominated(AtomKind kind, const SizeExpr& operand, const SizeExpr& other) {
  return kind == AtomKind::kMin ? is_never_above(other, operand) : is_never_above(operand, other);
}

SizeExpr extremum(AtomKind kind, const SizeExpr& a, const SizeExpr& b) {
  std::vector<SizeExpr> operands;
  append_operands(operands, kind, a);
  append_operands(operands, kind, b);
  std::sort(operands.begin(), operands.end(), form_less);
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  // One at a time, since of two different forms with equal values each makes the other superfluous.
  for (std::size_t i = 0; i < operands.size();) {
    const bool dominated = std::any_of(operands.begin(), operands.end(), [&](const SizeExpr& other) {
      return &other != &operands[i] && is_dominated(kind, operands[i], other);
    });
    if (dominated) {
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (operands.size() == 1) return operands[0];
  return finish(Atom{kind, Dim(""), std::move(operands), {}});
}

}  // namespace

SizeExpr min(const SizeExpr& a, const SizeExpr& b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
  return extremum(AtomKind::kMin, a, b);
}

SizeExpr max(const SizeExpr& a, const SizeExpr& b) {
  if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
  return extremum(AtomKind::kMax, a, b);
}

}  // namespace millrace
