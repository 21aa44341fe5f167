// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// A size that is known only when a run binds it, and what is promised about it.
/// Two Dims are the same symbol when their names are equal; a graph refuses one name with two sets of facts.
///
///     auto rows = Dim("rows").at_least(1).at_most(524160).multiple_of(128);
class Dim {
 public:
  explicit Dim(std::string name) : name_(std::move(name)) {}
  Dim at_least(std::int64_t value) const;
  Dim at_most(std::int64_t value) const;
  Dim multiple_of(std::int64_t value) const;

  const std::string& name() const { return name_; }
  std::int64_t min() const { return min_; }
  std::int64_t max() const { return max_; }
  std::int64_t multiple() const { return multiple_; }
  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  std::string name_;
  std::int64_t min_ = 0;
  std::int64_t max_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t multiple_ = 1;
};

using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;

/// An immutable integer expression over symbols, in a canonical form: a sum of products of atoms, where an atom is a
/// symbol, a floor division, a minimum or a maximum. Equal forms compare equal, so `n * 4 / 4 == n`.
/// Constants are stored inline. Arithmetic saturates at the ends of int64; `evaluate` reports an overflow.
class SizeExpr {
 public:
  SizeExpr(std::int64_t value = 0) : constant_(value) {}
  SizeExpr(const Dim& symbol);

  bool is_constant() const { return node_ == nullptr; }
  /// Precondition: is_constant().
  std::int64_t constant() const {
    MILLRACE_CHECK(is_constant());
    return constant_;
  }
  bool is(std::int64_t value) const { return is_constant() && constant_ == value; }

  /// Bounds that hold for every binding which keeps the facts.
  std::int64_t lower_bound() const;
  std::int64_t upper_bound() const;
  /// The largest known d such that every binding's value is a multiple of d; 0 for the constant 0.
  std::int64_t known_multiple() const;

  /// Fails with the symbol's name when one is unbound, and when the value leaves int64.
  Result<std::int64_t> evaluate(const SymbolValues&) const;
  void collect_symbols(std::map<std::string, Dim>& symbols) const;
  std::string to_text() const;

  friend SizeExpr operator+(const SizeExpr&, const SizeExpr&);
  friend SizeExpr operator-(const SizeExpr&, const SizeExpr&);
  friend SizeExpr operator*(const SizeExpr&, const SizeExpr&);
  /// Rounds towards minus infinity. Precondition: the divisor is a positive constant or an expression with
  /// lower_bound() >= 1.
  friend SizeExpr floor_div(const SizeExpr&, const SizeExpr&);
  friend SizeExpr ceil_div(const SizeExpr&, const SizeExpr&);
  friend SizeExpr min(const SizeExpr&, const SizeExpr&);
  friend SizeExpr max(const SizeExpr&, const SizeExpr&);
  friend bool operator==(const SizeExpr&, const SizeExpr&);
  /// A total order on forms, for maps and canonical order; says nothing about values.
  friend bool form_less(const SizeExpr&, const SizeExpr&);

  struct Node;  // size_expr.cpp

 private:
  explicit SizeExpr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  friend struct SizeExprAccess;
  std::int64_t constant_ = 0;
  std::shared_ptr<const Node> node_;  // null for a constant
};

SizeExpr floor_div(const SizeExpr&, const SizeExpr&);
SizeExpr ceil_div(const SizeExpr&, const SizeExpr&);
SizeExpr min(const SizeExpr&, const SizeExpr&);
SizeExpr max(const SizeExpr&, const SizeExpr&);
bool form_less(const SizeExpr&, const SizeExpr&);

}  // namespace millrace
