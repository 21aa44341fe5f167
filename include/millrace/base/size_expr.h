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

/// A symbolic size that is bound at run time, with facts that the caller promises about its value: bounds and a
/// multiple. Two Dims with equal names are the same symbol, and a graph rejects them if their facts differ. If a fact
/// is stated twice, both apply: the stricter bound, or the least common multiple.
///
///     auto rows = Dim("rows").at_least(1).at_most(524160).multiple_of(128);
class Dim {
 public:
  /// A name is a letter or '_', followed by letters, digits, '_' and '.'. The words true, false, inf and nan are not
  /// names. `check` reports an invalid name.
  explicit Dim(std::string name) : name_(std::move(name)) {}
  Dim at_least(std::int64_t value) const;
  Dim at_most(std::int64_t value) const;
  Dim multiple_of(std::int64_t value) const;

  const std::string& name() const { return name_; }
  std::int64_t min() const { return min_; }
  std::int64_t max() const { return max_; }
  /// The least common multiple of all stated multiples. 0 if it would exceed 2^63 - 2 or if a stated multiple is below
  /// 1; `check` then fails.
  std::int64_t multiple() const { return multiple_; }
  /// Fails if the name is invalid, or if no value satisfies all the facts.
  Status check() const;
  bool allows(std::int64_t value) const;
  /// The facts as C++ calls, always with the lower bound: "at_least(0).multiple_of(128)".
  std::string facts_to_text() const;
  /// The name and its facts, in the syntax of parse_size_expr: "rows in 1..524160 multiple_of 128".
  std::string to_text() const;
  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  std::string name_;
  std::int64_t min_ = 0;
  std::int64_t max_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t multiple_ = 1;
};

using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;

/// An immutable integer expression over symbols, in canonical form: a sum of products of atoms, where an atom is a
/// symbol, a floor division, a minimum or a maximum. Equal forms compare equal, so `floor_div(n * 4, 4) == n`;
/// different forms may still have equal values. Simplification relies on the symbols' facts, so `evaluate` may not
/// notice a value that breaks one: code that binds a symbol must call `Dim::allows`. Constants are stored inline.
/// Arithmetic saturates at the ends of int64, which mean "too large to count"; `evaluate` then reports an overflow.
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

  /// Bounds over all bindings that satisfy the facts and for which `evaluate` succeeds; the ends of int64 when nothing
  /// is known.
  std::int64_t lower_bound() const;
  std::int64_t upper_bound() const;
  /// The largest known d such that the value is a multiple of d for every binding; 0 for the constant 0.
  std::int64_t known_multiple() const;
  /// The number of products in the sum; 1 for a constant. Multiplying two expressions can multiply their counts.
  std::size_t num_terms() const;
  /// Whether the expression has 500 or more parts (symbols, constants, operations), or nests operations 64 or more
  /// levels deep. parse_size_expr rejects such text, and a graph rejects such a dim.
  bool is_too_long() const;

  /// Whether some divisor is below 1 for every binding, so that `evaluate` always fails. A graph rejects such a size.
  bool divides_by_zero() const;

  /// Fails if a symbol is unbound or its value breaks a fact, if a divisor is below 1, if the result overflows int64,
  /// or if an intermediate value overflows 128 bits. Allocates nothing on success.
  Result<std::int64_t> evaluate(const SymbolValues&) const;
  /// Adds the expression's symbols to `symbols`. Fails if a symbol fails Dim::check, or if `symbols` has it with other
  /// facts.
  Status collect_symbols(std::map<std::string, Dim>& symbols) const;
  /// "4*cols*rows - 1", "floor_div(n + 127, 128)", "min(m, n, 4)".
  std::string to_text() const;
  /// Also prints the facts of each symbol that is not yet in `printed_symbols`, and adds the symbol to it: "2*(n
  /// in 1..64) + 1".
  std::string to_text(std::map<std::string, Dim>& printed_symbols) const;

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

/// Rounds towards minus infinity. `evaluate` fails if the divisor turns out to be below 1.
SizeExpr floor_div(const SizeExpr&, const SizeExpr&);
/// Rounds towards plus infinity; otherwise like floor_div.
SizeExpr ceil_div(const SizeExpr&, const SizeExpr&);
SizeExpr min(const SizeExpr&, const SizeExpr&);
SizeExpr max(const SizeExpr&, const SizeExpr&);
/// Reads the output of to_text and hand-written text:
///
///     size    := symbol facts | sum
///     facts   := ["in" number ".." [number]] ["multiple_of" number]           "in" lower ".." upper bound
///     sum     := ["-"] product {("+" | "-") product}
///     product := part {"*" part}
///     part    := number | symbol | "(" size ")" | ("floor_div" | "ceil_div") "(" size "," size ")"
///              | ("min" | "max") "(" size "," size {"," size} ")"
///
/// A symbol's facts follow its first appearance. On entry, `symbols` holds the symbols that appeared earlier; new ones
/// are added to it. Fails, with line and column, if a number does not fit int64, a divisor is below 1 for every
/// binding, or the text has more than 64 levels or 500 parts.
Result<SizeExpr> parse_size_expr(std::string_view text, std::map<std::string, Dim>& symbols);

/// A total order on forms, used by maps and by the canonical form. It does not compare values.
bool form_less(const SizeExpr&, const SizeExpr&);

}  // namespace millrace
