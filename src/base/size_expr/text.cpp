// SPDX-License-Identifier: Apache-2.0
// Prints sizes. An atom holds a symbol divided by its known multiple, but text shows the whole symbol:
// 128 * (rows / 128) prints as "rows". Parsing the text gives back the same form.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/size_expr/node.h"

namespace millrace {
namespace {

using Symbols = std::map<std::string, Dim>;

std::string sum_text(const SizeExpr&, std::int64_t scale, Symbols* printed_symbols);
std::int64_t display_scale(std::span<const SizeExpr> operands);

/// The factor to multiply an atom by, so that its text divides no symbol by the symbol's own multiple.
std::int64_t display_scale(const Atom& atom) {
  if (atom.kind == AtomKind::kSymbol) return symbol_multiple(atom.symbol);
  return atom.kind == AtomKind::kFloorDiv ? 1 : display_scale(atom.operands);
}

std::int64_t display_scale(const Term& term) {
  std::int64_t scale = 1;
  for (const auto& factor : term.factors) scale = saturating::multiply(scale, display_scale(*factor));
  return scale / common_divisor(scale, term.coefficient);
}

/// One scale for all operands; 1 if the scaled numbers would leave int64.
std::int64_t display_scale(std::span<const SizeExpr> operands) {
  std::int64_t scale = 1;
  std::int64_t largest = 1;
  const auto grow = [&largest](std::int64_t value) { largest = std::max({largest, value, saturating::negate(value)}); };
  for (const SizeExpr& operand : operands) {
    const Sum sum = to_sum(operand);
    grow(sum.constant);
    for (const Term& term : sum.terms) {
      grow(term.coefficient);
      const std::int64_t needed = display_scale(term);
      scale = saturating::multiply(scale / common_divisor(scale, needed), needed);
    }
  }
  return saturating::is_end(saturating::multiply(scale, largest)) ? 1 : scale;
}

/// Adds the facts in parentheses unless they are already printed or `printed_symbols` is null.
std::string symbol_text(const Dim& symbol, Symbols* printed_symbols) {
  if (printed_symbols == nullptr || !printed_symbols->emplace(symbol.name(), symbol).second) return symbol.name();
  const std::string text = symbol.to_text();
  return text == symbol.name() ? text : fmt::format("({})", text);
}

std::string call_text(const char* function, const Atom& atom, std::int64_t scale, Symbols* printed_symbols) {
  std::string text;
  for (const SizeExpr& operand : atom.operands)
    text += (text.empty() ? "" : ", ") + sum_text(operand, scale, printed_symbols);
  return fmt::format("{}({})", function, text);
}

/// `scale` is display_scale(atom), or 1 if that is too large for the coefficient.
std::string atom_text(const Atom& atom, std::int64_t scale, Symbols* printed_symbols) {
  switch (atom.kind) {
    case AtomKind::kSymbol: {
      const std::int64_t multiple = symbol_multiple(atom.symbol);
      const std::string text = symbol_text(atom.symbol, printed_symbols);
      return scale == multiple ? text : fmt::format("floor_div({}, {})", text, multiple);
    }
    case AtomKind::kFloorDiv:
      // Scaling a divisor that may not be positive would give a different form.
      return call_text("floor_div", atom, atom.operands[1].lower_bound() >= 1 ? display_scale(atom.operands) : 1,
                       printed_symbols);
    case AtomKind::kMin:
      return call_text("min", atom, scale, printed_symbols);
    case AtomKind::kMax:
      return call_text("max", atom, scale, printed_symbols);
  }
  return {};
}

/// Unsigned, because -INT64_MIN does not fit int64.
std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

std::string product_text(std::uint64_t coefficient, const Term& term, Symbols* printed_symbols) {
  std::string text;
  for (const auto& factor : term.factors) {
    auto scale = static_cast<std::uint64_t>(display_scale(*factor));
    if (coefficient % scale != 0) scale = 1;
    coefficient /= scale;
    text += (text.empty() ? "" : "*") + atom_text(*factor, static_cast<std::int64_t>(scale), printed_symbols);
  }
  return coefficient == 1 ? text : fmt::format("{}*{}", coefficient, text);
}

/// Puts the sign between the parts: "n - 4" rather than "n + -4".
void append_signed(std::string& text, std::int64_t sign, const std::string& part) {
  if (text.empty()) {
    text = sign < 0 ? "-" : "";
  } else {
    text += sign < 0 ? " - " : " + ";
  }
  text += part;
}

std::string sum_text(const SizeExpr& expr, std::int64_t scale, Symbols* printed_symbols) {
  const Sum sum = to_sum(expr);
  std::string text;
  for (const Term& term : sum.terms) {
    const std::int64_t coefficient = saturating::multiply(term.coefficient, scale);
    append_signed(text, coefficient, product_text(magnitude(coefficient), term, printed_symbols));
  }
  const std::int64_t constant = saturating::multiply(sum.constant, scale);
  if (constant != 0 || text.empty()) append_signed(text, constant, fmt::format("{}", magnitude(constant)));
  return text;
}

}  // namespace

std::string SizeExpr::to_text() const { return sum_text(*this, 1, nullptr); }

std::string SizeExpr::to_text(std::map<std::string, Dim>& printed_symbols) const {
  std::string text = sum_text(*this, 1, &printed_symbols);
  // A lone symbol needs no parentheses around its facts; a text that begins with '(' has facts.
  const Sum sum = to_sum(*this);
  const bool is_one_part = sum.constant == 0 && sum.terms.size() == 1 && sum.terms[0].factors.size() == 1;
  return is_one_part && text.starts_with('(') ? text.substr(1, text.size() - 2) : text;
}

}  // namespace millrace
