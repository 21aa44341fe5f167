// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/size_expr_node.h"

namespace millrace {
namespace {

std::string list_text(const std::vector<SizeExpr>& operands) {
  std::string text;
  for (const SizeExpr& operand : operands) {
    if (!text.empty()) text += ", ";
    text += operand.to_text();
  }
  return text;
}

std::string atom_text(const Atom& atom) {
  switch (atom.kind) {
    case AtomKind::kSymbol:
      return atom.symbol.name();
    case AtomKind::kFloorDiv:
      return fmt::format("floor_div({})", list_text(atom.operands));
    case AtomKind::kMin:
      return fmt::format("min({})", list_text(atom.operands));
    case AtomKind::kMax:
      return fmt::format("max({})", list_text(atom.operands));
  }
  return {};
}

/// Unsigned, because -INT64_MIN is no int64.
std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

/// The sign of a part goes between the parts, so that it reads "n - 4" rather than "n + -4".
void append_signed(std::string& text, std::int64_t sign, const std::string& part) {
  if (text.empty()) {
    text = sign < 0 ? "-" : "";
  } else {
    text += sign < 0 ? " - " : " + ";
  }
  text += part;
}

}  // namespace

std::string SizeExpr::to_text() const {
  const Sum* sum = SizeExprAccess::node(*this);
  if (sum == nullptr) return fmt::format("{}", constant_);
  std::string text;
  for (const Term& term : sum->terms) {
    std::string product = magnitude(term.coefficient) == 1 ? "" : fmt::format("{}", magnitude(term.coefficient));
    for (const auto& factor : term.factors) product += (product.empty() ? "" : "*") + atom_text(*factor);
    append_signed(text, term.coefficient, product);
  }
  if (sum->constant != 0) append_signed(text, sum->constant, fmt::format("{}", magnitude(sum->constant)));
  return text;
}

}  // namespace millrace
