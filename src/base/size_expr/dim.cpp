// SPDX-License-Identifier: Apache-2.0
// The facts of a symbol: stating them, checking that some value satisfies them, and collecting the symbols of a size.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/size_expr/node.h"
#include "base/size_expr/promise_text.h"
#include "base/text/reader.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

std::int64_t least_common_multiple(std::int64_t a, std::int64_t b) {
  return saturating::multiply(a / std::gcd(a, b), b);
}

Status collect(const SizeExpr& expr, std::map<std::string, Dim>& symbols);

Status collect(const Atom& atom, std::map<std::string, Dim>& symbols) {
  for (const SizeExpr& operand : atom.operands) MILLRACE_TRY(collect(operand, symbols));
  if (atom.kind != AtomKind::kSymbol) return {};
  MILLRACE_TRY(atom.symbol.check());
  const auto [known, inserted] = symbols.emplace(atom.symbol.name(), atom.symbol);
  if (inserted || known->second == atom.symbol) return {};
  return invalid_argument(
      fmt::format("dim '{}': promised {}, expected {} as elsewhere; state the same facts everywhere",
                  printable(atom.symbol.name()), promise_text(atom.symbol), promise_text(known->second)));
}

Status collect(const SizeExpr& expr, std::map<std::string, Dim>& symbols) {
  const Sum* sum = SizeExprAccess::node(expr);
  if (sum == nullptr) return {};
  for (const Term& term : sum->terms) {
    for (const auto& factor : term.factors) MILLRACE_TRY(collect(*factor, symbols));
  }
  return {};
}

}  // namespace

Dim Dim::at_least(std::int64_t value) const {
  Dim dim = *this;
  dim.min_ = std::max(min_, value);
  return dim;
}

Dim Dim::at_most(std::int64_t value) const {
  Dim dim = *this;
  dim.max_ = std::min(max_, value);
  return dim;
}

Dim Dim::multiple_of(std::int64_t value) const {
  Dim dim = *this;
  dim.multiple_ = value < 1 || multiple_ == 0 ? 0 : least_common_multiple(multiple_, value);
  if (saturating::is_end(dim.multiple_)) dim.multiple_ = 0;
  return dim;
}

Status Dim::check() const {
  return guard_allocations([&]() -> Status {
    if (!is_plain_name(name_)) {
      return invalid_argument(fmt::format(
          "dim '{}': found this name, expected a letter or '_', then letters, digits, '_' or '.'; rename it",
          printable(name_)));
    }
    constexpr std::size_t kMaxBytes = 256;  // messages print sizes in full, so names must be short
    if (name_.size() > kMaxBytes) {
      return invalid_argument(fmt::format("dim '{}': found a name of {} bytes, expected at most {}; shorten it",
                                          printable(name_), name_.size(), kMaxBytes));
    }
    constexpr std::string_view kWords[] = {"true", "false", "inf", "nan"};
    if (std::ranges::find(kWords, name_) != std::end(kWords)) {
      return invalid_argument(fmt::format(
          "dim '{}': found this name, expected one that does not read as a number or a bool; rename it", name_));
    }
    if (multiple_ == 0) {
      return invalid_argument(fmt::format(
          "dim '{}': its multiple_of facts have no common multiple from 1 to 2^63 - 2; correct or drop one", name_));
    }
    // A max_ of 2^63 - 1 means "no maximum", but here it is a valid value too.
    if (min_ <= max_ && min_ <= max_ - max_ % multiple_) return {};
    return invalid_argument(
        fmt::format("dim '{}': no value keeps {}, expected at least one; loosen a fact", name_, promise_text(*this)));
  });
}

std::string promise_text(const Dim& dim) { return dim == Dim(dim.name()) ? dim.name() + " in 0.." : dim.to_text(); }

std::string Dim::facts_to_text() const {
  std::string text;
  const auto append = [&text](const char* fact, std::int64_t value) {
    text += fmt::format("{}{}({})", text.empty() ? "" : ".", fact, value);
  };
  append("at_least", min_);
  if (max_ != saturating::kMax) append("at_most", max_);
  if (multiple_ != 1) append("multiple_of", multiple_);
  return text;
}

std::string Dim::to_text() const {
  std::string text = name_;
  if (min_ != 0 || max_ != saturating::kMax) text += fmt::format(" in {}..", min_);
  if (max_ != saturating::kMax) text += fmt::format("{}", max_);
  if (multiple_ != 1) text += fmt::format(" multiple_of {}", multiple_);
  return text;
}

bool Dim::allows(std::int64_t value) const {
  return min_ <= value && value <= max_ && value % symbol_multiple(*this) == 0;
}

Status SizeExpr::collect_symbols(std::map<std::string, Dim>& symbols) const {
  return guard_allocations([&] { return collect(*this, symbols); });
}

}  // namespace millrace
