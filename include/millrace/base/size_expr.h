// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/saturating.h"
#include "millrace/base/status.h"

namespace millrace {

/// A size that is known only when a run binds it, and what is promised about it.
/// Two Dims are the same symbol when their names are equal; a graph refuses one name with two sets of facts.
/// A fact said twice holds both times: the stricter bound, the least common multiple.
///
///     auto rows = Dim("rows").at_least(1).at_most(524160).multiple_of(128);
class Dim {
 public:
  /// A name is a letter or '_', then letters, digits, '_' and '.', and not a word that text reads as a number or a
  /// bool (true, false, inf, nan); `check` says what is wrong with another.
  explicit Dim(std::string name) : name_(std::move(name)) {}
  Dim at_least(std::int64_t value) const;
  Dim at_most(std::int64_t value) const;
  Dim multiple_of(std::int64_t value) const;

  const std::string& name() const { return name_; }
  std::int64_t min() const { return min_; }
  std::int64_t max() const { return max_; }
  /// 0 when nothing from 1 to 2^63 - 2 is a multiple of all that was said: `check` then fails.
  std::int64_t multiple() const { return multiple_; }
  /// Whether the name can be written and read back, and some value keeps all facts.
  Status check() const;
  bool allows(std::int64_t value) const;
  /// The facts as they are said in C++, the least value always: "at_least(0).multiple_of(128)".
  std::string facts_to_text() const;
  /// The name, and the facts as parse_size_expr reads them: "rows in 1..524160 multiple_of 128".
  std::string to_text() const;
  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  std::string name_;
  std::int64_t min_ = 0;
  std::int64_t max_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t multiple_ = 1;
};

using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;

/// An immutable integer expression over symbols, in a canonical form: a sum of products of atoms, where an atom is a
/// symbol, a floor division, a minimum or a maximum. Equal forms compare equal, so `floor_div(n * 4, 4) == n`;
/// different forms may still be equal in value. Forms are simplified by the symbols' facts, so a check that only a
/// broken fact could fail may be gone: whoever binds a symbol asks `Dim::allows`. Constants are stored inline.
/// Arithmetic saturates at the ends of int64, which stand for "too large to count"; `evaluate` then reports an
/// overflow.
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

  /// Bounds that hold for every binding which keeps the facts and evaluates; the ends of int64 when nothing is known.
  std::int64_t lower_bound() const;
  std::int64_t upper_bound() const;
  /// The largest known d such that every binding's value is a multiple of d; 0 for the constant 0.
  std::int64_t known_multiple() const;
  /// How many products it is the sum of: 1 for a constant. A product of expressions may have the product of theirs.
  std::size_t num_terms() const;
  /// Whether it is written with 500 parts (symbols, constants, operations) or more, or 64 levels or more of operations
  /// inside each other: then parse_size_expr refuses it, and a graph has no such dim.
  bool is_too_long() const;

  /// Whether it divides by what is below 1 for every binding: then it never evaluates, and a graph has no such size.
  bool divides_by_zero() const;

  /// Fails when a symbol is unbound or its value breaks a fact, when a divisor is below 1, and when the value leaves
  /// int64 or a part of it 128 bits. Allocates nothing when it succeeds.
  Result<std::int64_t> evaluate(const SymbolValues&) const;
  /// Adds the symbols to `symbols`. Fails when one contradicts itself (Dim::check) or has other facts in `symbols`.
  Status collect_symbols(std::map<std::string, Dim>& symbols) const;
  /// "4*cols*rows - 1", "floor_div(n + 127, 128)", "min(m, n, 4)".
  std::string to_text() const;
  /// The same, with the facts of each symbol that is not in `stated`, which gets it: "2*(n in 1..64) + 1".
  std::string to_text(std::map<std::string, Dim>& stated) const;

  friend SizeExpr operator+(const SizeExpr& a, const SizeExpr& b) {
    if (a.is_constant() && b.is_constant()) return saturating::add(a.constant_, b.constant_);
    return add_forms(a, b);
  }
  friend SizeExpr operator-(const SizeExpr& a, const SizeExpr& b) {
    if (a.is_constant() && b.is_constant()) return saturating::subtract(a.constant_, b.constant_);
    return add_forms(a, multiply_forms(b, -1));
  }
  friend SizeExpr operator*(const SizeExpr& a, const SizeExpr& b) {
    if (a.is_constant() && b.is_constant()) return saturating::multiply(a.constant_, b.constant_);
    return multiply_forms(a, b);
  }
  friend bool operator==(const SizeExpr& a, const SizeExpr& b) {
    if (a.is_constant() || b.is_constant()) return a.node_ == b.node_ && a.constant_ == b.constant_;
    return equal_forms(a, b);
  }

  struct Node;  // src/base/size_expr/node.h

 private:
  static SizeExpr add_forms(const SizeExpr&, const SizeExpr&);
  static SizeExpr multiply_forms(const SizeExpr&, const SizeExpr&);
  static bool equal_forms(const SizeExpr&, const SizeExpr&);
  explicit SizeExpr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  friend struct SizeExprAccess;
  std::int64_t constant_ = 0;
  std::shared_ptr<const Node> node_;  // null for a constant
};

/// Rounds towards minus infinity. A divisor that turns out below 1 is an error of `evaluate`.
SizeExpr floor_div(const SizeExpr&, const SizeExpr&);
/// Rounds towards plus infinity; else like floor_div.
SizeExpr ceil_div(const SizeExpr&, const SizeExpr&);
SizeExpr min(const SizeExpr&, const SizeExpr&);
SizeExpr max(const SizeExpr&, const SizeExpr&);
/// Reads what to_text writes, and what people write:
///
///     size    := symbol facts | sum
///     facts   := ["in" number ".." [number]] ["multiple_of" number]           the least and the largest value
///     sum     := ["-"] product {("+" | "-") product}
///     product := part {"*" part}
///     part    := number | symbol | "(" size ")" | ("floor_div" | "ceil_div") "(" size "," size ")"
///              | ("min" | "max") "(" size "," size {"," size} ")"
///
/// A divisor that is below 1 for every binding is refused.
/// A symbol's facts stand where it first appears; `symbols` is what appeared before, and gets what appears here. Fails
/// with line and column; so it does for a number beyond int64, and beyond 64 levels or 500 parts.
Result<SizeExpr> parse_size_expr(std::string_view text, std::map<std::string, Dim>& symbols);

/// A total order on forms, for maps and canonical order; says nothing about values.
bool form_less(const SizeExpr&, const SizeExpr&);

}  // namespace millrace
