// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "millrace/base/size_expr.h"

namespace millrace::testing {

/// Symbols that between them have every kind of fact, and bindings that keep the facts.
const std::vector<Dim>& random_symbols();
SymbolValues random_bindings(std::mt19937& random);

/// An expression twice: built through SizeExpr, which rewrites it, and kept as the tree that was asked for.
struct RandomExpr {
  enum class Kind { kConstant, kSymbol, kAdd, kSubtract, kMultiply, kFloorDiv, kCeilDiv, kMin, kMax };
  Kind kind = Kind::kConstant;
  std::int64_t constant = 0;
  std::string symbol;
  std::shared_ptr<const RandomExpr> left;
  std::shared_ptr<const RandomExpr> right;
  SizeExpr built;

  /// The tree's value; nothing when a divisor is below 1.
  std::optional<std::int64_t> value(const SymbolValues&) const;
};

/// `depth` operations deep. Products have a leaf on one side, so that values stay far inside int64.
RandomExpr random_expr(std::mt19937& random, int depth);

}  // namespace millrace::testing
