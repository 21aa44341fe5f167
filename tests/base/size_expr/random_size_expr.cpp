// SPDX-License-Identifier: Apache-2.0
#include "tests/base/size_expr/random_size_expr.h"

#include <algorithm>

namespace millrace::testing {
namespace {

using Kind = RandomExpr::Kind;

std::int64_t pick(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

RandomExpr random_leaf(std::mt19937& random) {
  RandomExpr leaf;
  if (pick(random, 0, 2) == 0) {
    leaf.constant = pick(random, -3, 12);
    leaf.built = leaf.constant;
  } else {
    const auto& symbols = random_symbols();
    const Dim& symbol =
        symbols[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(symbols.size()) - 1))];
    leaf.kind = Kind::kSymbol;
    leaf.symbol = symbol.name();
    leaf.built = symbol;
  }
  return leaf;
}

SizeExpr build(Kind kind, const SizeExpr& a, const SizeExpr& b) {
  switch (kind) {
    case Kind::kAdd:
      return a + b;
    case Kind::kSubtract:
      return a - b;
    case Kind::kMultiply:
      return a * b;
    case Kind::kFloorDiv:
      return floor_div(a, b);
    case Kind::kCeilDiv:
      return ceil_div(a, b);
    case Kind::kMin:
      return min(a, b);
    case Kind::kMax:
      return max(a, b);
    case Kind::kConstant:
    case Kind::kSymbol:
      break;
  }
  return {};
}

/// Counted up and down rather than computed as SizeExpr does it: the largest q with q * b <= a.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  while (q * b > a) --q;
  while ((q + 1) * b <= a) ++q;
  return q;
}

}  // namespace

const std::vector<Dim>& random_symbols() {
  static const std::vector<Dim> kSymbols = {
      Dim("a"),
      Dim("b").at_least(1),
      Dim("c").multiple_of(4).at_most(64),
      Dim("d").at_least(2).at_most(7),
      Dim("e").at_most(1),
      Dim("f").at_least(3).multiple_of(6).at_most(60),
  };
  return kSymbols;
}

SymbolValues random_bindings(std::mt19937& random) {
  SymbolValues values;
  for (const Dim& symbol : random_symbols()) {
    std::int64_t value = pick(random, 0, 66);
    while (!symbol.allows(value)) value = pick(random, 0, 66);
    values[symbol.name()] = value;
  }
  return values;
}

std::optional<std::int64_t> RandomExpr::value(const SymbolValues& values) const {
  if (kind == Kind::kConstant) return constant;
  if (kind == Kind::kSymbol) return values.at(symbol);
  const auto a = left->value(values);
  const auto b = right->value(values);
  if (!a || !b) return std::nullopt;
  switch (kind) {
    case Kind::kAdd:
      return *a + *b;
    case Kind::kSubtract:
      return *a - *b;
    case Kind::kMultiply:
      return *a * *b;
    case Kind::kFloorDiv:
      return *b < 1 ? std::nullopt : std::optional(floor_quotient(*a, *b));
    case Kind::kCeilDiv:
      return *b < 1 ? std::nullopt : std::optional(-floor_quotient(-*a, *b));
    case Kind::kMin:
      return std::min(*a, *b);
    case Kind::kMax:
      return std::max(*a, *b);
    case Kind::kConstant:
    case Kind::kSymbol:
      break;
  }
  return std::nullopt;
}

RandomExpr random_expr(std::mt19937& random, int depth) {
  if (depth == 0) return random_leaf(random);
  RandomExpr expr;
  expr.kind = static_cast<Kind>(pick(random, static_cast<int>(Kind::kAdd), static_cast<int>(Kind::kMax)));
  const int right_depth = expr.kind == Kind::kMultiply ? 0 : static_cast<int>(pick(random, 0, depth - 1));
  expr.left = std::make_shared<RandomExpr>(random_expr(random, depth - 1));
  expr.right = std::make_shared<RandomExpr>(random_expr(random, right_depth));
  expr.built = build(expr.kind, expr.left->built, expr.right->built);
  return expr;
}

}  // namespace millrace::testing
