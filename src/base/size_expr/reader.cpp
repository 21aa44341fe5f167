// SPDX-License-Identifier: Apache-2.0
// Parses sizes and the facts of symbols, alone or inside the text of a graph.
#include "base/size_expr/reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/size_expr/node.h"
#include "base/text/near_name.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr int kMaxDepth = 64;
/// Bounds the form that a short text can expand to: a product of n two-term sums has 2^n terms.
constexpr std::size_t kMaxParts = 500;

/// Counts the atoms and constants in an expression, up to `limit`. Nesting deeper than `depth` also returns `limit`.
std::size_t count_parts(const SizeExpr& expr, std::size_t limit, int depth) {
  if (depth == 0) return limit;
  std::size_t parts = 1;
  if (expr.is_constant()) return parts;
  for (const Term& term : SizeExprAccess::node(expr)->terms) {
    for (const auto& factor : term.factors) {
      ++parts;
      for (const SizeExpr& operand : factor->operands) {
        if (parts >= limit) return limit;
        parts += count_parts(operand, limit - parts, depth - 1);
      }
      if (parts >= limit) return limit;
    }
  }
  return parts;
}

class SizeExprReader {
 public:
  SizeExprReader(TextReader& text, std::map<std::string, Dim>& symbols) : text_(text), symbols_(symbols) {}

  Result<SizeExpr> read_size() {
    const std::size_t begin = text_.position();
    if (depth_ == kMaxDepth) {
      return text_.error(begin, fmt::format("found {} nested sizes, expected fewer; split the size", kMaxDepth + 1));
    }
    ++depth_;
    const std::string_view name = text_.take_name();
    const bool has_facts = !name.empty() && is_at_facts();
    if (!has_facts) text_.move_to(begin);
    Result<SizeExpr> size = has_facts ? read_facts(begin, Dim(std::string(name))) : read_sum();
    --depth_;
    return size;
  }

 private:
  using Function = SizeExpr (*)(const SizeExpr&, const SizeExpr&);

  bool is_at_facts() {
    const std::size_t begin = text_.position();
    const bool is_facts = text_.take_word("in") || text_.take_word("multiple_of");
    text_.move_to(begin);
    return is_facts;
  }

  Result<SizeExpr> read_facts(std::size_t begin, Dim symbol) {
    if (text_.take_word("in")) {
      MILLRACE_TRY_ASSIGN(const std::int64_t minimum, read_integer(false));
      symbol = symbol.at_least(minimum);
      if (!text_.take("..")) return text_.unexpected("expected '..'; write the minimum size, '..' and the maximum");
      const std::string_view rest = text_.rest();
      if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
        MILLRACE_TRY_ASSIGN(const std::int64_t maximum, read_integer(false));
        symbol = symbol.at_most(maximum);
      }
    }
    if (text_.take_word("multiple_of")) {
      MILLRACE_TRY_ASSIGN(const std::int64_t multiple, read_integer(false));
      symbol = symbol.multiple_of(multiple);
    }
    const SizeExpr size(symbol);
    const Status status = unguarded(size.collect_symbols(symbols_));
    return status.ok() ? Result<SizeExpr>(size) : text_.error(begin, status.message());
  }

  Result<SizeExpr> read_sum() {
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(SizeExpr sum, read_product(text_.take("-")));
    while (true) {
      const bool is_negative = text_.take("-");
      if (!is_negative && !text_.take("+")) break;
      MILLRACE_TRY_ASSIGN(const SizeExpr product, read_product(is_negative));
      sum = sum + product;
      MILLRACE_TRY(check_parts(begin, sum));
    }
    if (!is_at_facts()) return sum;
    return text_.unexpected("expected facts next to one symbol only; put the symbol and its facts in parentheses");
  }

  Result<SizeExpr> read_product(bool is_negative) {
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(SizeExpr product, read_part(is_negative));
    while (text_.take("*")) {
      MILLRACE_TRY_ASSIGN(const SizeExpr part, read_part(false));
      if (to_sum(product).terms.size() * to_sum(part).terms.size() > kMaxParts) return too_large(begin);
      product = product * part;
      MILLRACE_TRY(check_parts(begin, product));
    }
    return product;
  }

  /// Reads one factor, negated if `is_negative`.
  Result<SizeExpr> read_part(bool is_negative) {
    const std::size_t begin = text_.position();
    const std::string_view rest = text_.rest();
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
      MILLRACE_TRY_ASSIGN(const std::int64_t number, read_integer(is_negative));
      return SizeExpr(number);
    }
    SizeExpr part;
    if (text_.take("(")) {
      MILLRACE_TRY_ASSIGN(part, read_size());
      if (!text_.take(")")) return text_.unexpected("expected ')'; close the parentheses");
    } else {
      const std::string_view name = text_.take_name();
      if (name.empty()) return text_.unexpected("expected a size; write a number, a symbol or an expression of them");
      if (text_.rest().starts_with('(')) {
        MILLRACE_TRY_ASSIGN(part, read_call(begin, name));
      } else {
        const Dim& symbol = symbols_.emplace(name, Dim(std::string(name))).first->second;
        if (const Status status = symbol.check(); !status.ok()) return text_.error(begin, status.message());
        part = symbol;
      }
    }
    return is_negative ? -1 * part : part;
  }

  Result<SizeExpr> read_call(std::size_t begin, std::string_view name) {
    constexpr std::pair<std::string_view, Function> kFunctions[] = {
        {"floor_div", floor_div}, {"ceil_div", ceil_div}, {"min", min}, {"max", max}};
    NearName near(name);
    for (const auto& [known, function] : kFunctions) {
      if (known == name) return read_operands(begin, function, /*takes_more=*/function == min || function == max);
      near.consider(known);
    }
    return text_.error(begin, fmt::format("found '{}(', expected floor_div, ceil_div, min or max; {}", printable(name),
                                          near.remedy("correct the function's name")));
  }

  Result<SizeExpr> read_operands(std::size_t begin, Function function, bool takes_more) {
    text_.take("(");
    MILLRACE_TRY_ASSIGN(SizeExpr result, read_size());
    bool is_first = true;
    while (is_first || (takes_more && !text_.rest().starts_with(')'))) {
      if (!text_.take(",")) return text_.unexpected("expected ','; give the function two sizes");
      const std::size_t operand_begin = text_.position();
      MILLRACE_TRY_ASSIGN(const SizeExpr operand, read_size());
      if ((function == floor_div || function == ceil_div) && operand.upper_bound() < 1) {
        return text_.error(operand_begin, fmt::format("found the divisor {}, expected one that can be 1 or more; "
                                                      "correct it",
                                                      operand.to_text()));
      }
      result = function(result, operand);
      MILLRACE_TRY(check_parts(begin, result));
      is_first = false;
    }
    if (!text_.take(")")) return text_.unexpected("expected ')'; close the function's operands");
    return result;
  }

  Result<std::int64_t> read_integer(bool is_negative) {
    const std::size_t begin = text_.position();
    const std::string_view rest = text_.rest();
    const std::size_t length = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (length == 0) return text_.unexpected("expected a number; write 0 or more");
    text_.skip(length);
    std::int64_t value = 0;
    for (const char digit : rest.substr(0, length)) {
      // Accumulate downwards, because INT64_MIN has no positive counterpart.
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, digit - '0', &value) ||
          (!is_negative && value == saturating::kMin)) {
        return text_.error(begin, fmt::format("found {}{}, expected a number within int64; lower it",
                                              is_negative ? "-" : "", printable(rest.substr(0, length))));
      }
    }
    return is_negative ? value : -value;
  }

  Status check_parts(std::size_t begin, const SizeExpr& expr) const {
    return expr.is_too_long() ? too_large(begin) : Status();
  }
  Status too_large(std::size_t begin) const {
    return text_.error(begin, fmt::format("found a size of {} parts or more when it is multiplied out, expected fewer; "
                                          "simplify it",
                                          kMaxParts));
  }

  TextReader& text_;
  std::map<std::string, Dim>& symbols_;
  int depth_ = 0;
};

}  // namespace

bool SizeExpr::divides_by_zero() const {
  if (is_constant()) return false;
  return std::ranges::any_of(node_->terms, [](const Term& term) {
    return std::ranges::any_of(term.factors, [](const auto& factor) {
      return (factor->kind == AtomKind::kFloorDiv && factor->operands[1].upper_bound() < 1) ||
             std::ranges::any_of(factor->operands, &SizeExpr::divides_by_zero);
    });
  });
}

bool SizeExpr::is_too_long() const { return count_parts(*this, kMaxParts, kMaxDepth) >= kMaxParts; }

Result<SizeExpr> read_size_expr(TextReader& text, std::map<std::string, Dim>& symbols) {
  return SizeExprReader(text, symbols).read_size();
}

Result<SizeExpr> parse_size_expr(std::string_view text, std::map<std::string, Dim>& symbols) {
  return guard_allocations([&]() -> Result<SizeExpr> {
    TextReader reader("size", text);
    MILLRACE_TRY_ASSIGN(SizeExpr size, read_size_expr(reader, symbols));
    if (!reader.at_end()) return reader.unexpected("expected the end of the size; remove what follows");
    return size;
  });
}

}  // namespace millrace
