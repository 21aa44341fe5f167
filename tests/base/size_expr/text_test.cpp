// SPDX-License-Identifier: Apache-2.0
// The text of a size shows its whole form: reading it gives the form back.
#include <map>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/base/size_expr/random_size_expr.h"

namespace millrace::testing {
namespace {

using Symbols = std::map<std::string, Dim>;

std::string reread(std::string_view text) {
  Symbols symbols;
  const Result<SizeExpr> size = parse_size_expr(text, symbols);
  if (!size.ok()) return size.status().message();
  Symbols stated;
  return size->to_text(stated);
}

TEST_CASE("reading the text gives the form back") {
  std::mt19937 random(7);
  Symbols known;
  for (const Dim& symbol : random_symbols()) known.emplace(symbol.name(), symbol);
  for (int i = 0; i < 20000; ++i) {
    const SizeExpr expr = random_expr(random, 1 + i % 5).built;
    const Result<SizeExpr> again = parse_size_expr(expr.to_text(), known);
    if (expr.divides_by_zero()) {
      CHECK_MESSAGE(!again.ok(), expr.to_text());
      continue;
    }
    CHECK_MESSAGE((again.ok() && *again == expr), expr.to_text());
    Symbols stated, symbols;
    const std::string text = expr.to_text(stated);
    const Result<SizeExpr> with_facts = parse_size_expr(text, symbols);
    CHECK_MESSAGE((with_facts.ok() && *with_facts == expr && symbols == stated), text);
  }
}

TEST_CASE("the facts of a symbol are printed where it first appears") {
  const SizeExpr rows = Dim("rows").at_least(1).at_most(64).multiple_of(4);
  const SizeExpr n = Dim("n").at_least(3);
  Symbols stated;
  CHECK(rows.to_text(stated) == "rows in 1..64 multiple_of 4");
  CHECK((2 * n + rows).to_text(stated) == "2*(n in 3..) + rows");
  CHECK((n + SizeExpr(Dim("m"))).to_text(stated) == "m + n");
  CHECK(SizeExpr(Dim("few").at_most(8)).to_text(stated) == "few in 0..8");
  CHECK(SizeExpr(Dim("even").multiple_of(2)).to_text(stated) == "even multiple_of 2");
  CHECK(floor_div(Dim("k").at_least(1).multiple_of(4), 4).to_text(stated) == "floor_div((k in 1.. multiple_of 4), 4)");
  CHECK(min(Dim("a").at_least(2), Dim("b")).to_text(stated) == "min((a in 2..), b)");
}

TEST_CASE("people may write sizes in other ways than the printed one") {
  CHECK(reread(" 2 * ( n+1 )*3 // six") == "6*n + 6");
  CHECK(reread("ceil_div(n, 128)") == "floor_div(n + 127, 128)");
  CHECK(reread("-(n) - (-4) + 9223372036854775807*0") == "-n + 4");
  CHECK(reread("-9223372036854775808") == "-9223372036854775808");
  CHECK(reread("max(1, (n in 0..9), 3) + n") == "(n in 0..9) + max(n, 3)");
  CHECK(reread("(n in 1..4 multiple_of 2) * n") == "(n in 1..4 multiple_of 2)*n");
  CHECK(reread("n + (n in 0..)") == "2*n");
  CHECK(reread("in in 1..2") == "in in 1..2");
  CHECK(reread("min + max") == "max + min");
}

TEST_CASE("a mistake in a size is reported with its place") {
  CHECK(reread("") ==
        "size:1:1: found the end of the text, expected a size; write a number, a symbol or an expression of them\n\n^");
  CHECK(reread("n + ") ==
        "size:1:5: found the end of the text, expected a size; write a number, a symbol or an expression of them\n"
        "n + \n"
        "    ^");
  CHECK(reread("n 4") ==
        "size:1:3: found '4', expected the end of the size; remove what follows\n"
        "n 4\n"
        "  ^");
  CHECK(reread("(n + 4") ==
        "size:1:7: found the end of the text, expected ')'; close the parentheses\n"
        "(n + 4\n"
        "      ^");
  CHECK(reread("floor(n, 4)") ==
        "size:1:1: found 'floor(', expected floor_div, ceil_div, min or max; correct the function's name\n"
        "floor(n, 4)\n"
        "^");
  CHECK(reread("n + foor_div(n, 4)") ==
        "size:1:5: found 'foor_div(', expected floor_div, ceil_div, min or max; did you mean 'floor_div'?\n"
        "n + foor_div(n, 4)\n"
        "    ^");
  CHECK(reread("min(n)") ==
        "size:1:6: found ')', expected ','; give the function two sizes\n"
        "min(n)\n"
        "     ^");
  CHECK(reread("4 + floor_div(n, 2 - 2)") ==
        "size:1:18: found the divisor 0, expected one that can be 1 or more; correct it\n"
        "4 + floor_div(n, 2 - 2)\n"
        "                 ^");
  CHECK(reread("ceil_div(n, -(m in 0..3))") ==
        "size:1:13: found the divisor -m, expected one that can be 1 or more; correct it\n"
        "ceil_div(n, -(m in 0..3))\n"
        "            ^");
  CHECK(reread("2*nan") ==
        "size:1:3: dim 'nan': found this name, expected one that does not read as a number or a bool; rename it\n"
        "2*nan\n"
        "  ^");
  CHECK(reread("floor_div(n, 2, 3)") ==
        "size:1:15: found ',', expected ')'; close the function's operands\n"
        "floor_div(n, 2, 3)\n"
        "              ^");
}

TEST_CASE("a mistake in a symbol's facts is reported with its place") {
  CHECK(reread("2*n in 1..4") ==
        "size:1:5: found 'in', expected facts next to one symbol only; put the symbol and its facts in parentheses\n"
        "2*n in 1..4\n"
        "    ^");
  CHECK(reread("n in 1:4") ==
        "size:1:7: found ':', expected '..'; write the minimum size, '..' and the maximum\n"
        "n in 1:4\n"
        "      ^");
  CHECK(reread("n multiple_of m") ==
        "size:1:15: found 'm', expected a number; write 0 or more\n"
        "n multiple_of m\n"
        "              ^");
  CHECK(reread("n + (k in 5..4)") ==
        "size:1:6: dim 'k': no value keeps k in 5..4, expected at least one; loosen a fact\n"
        "n + (k in 5..4)\n"
        "     ^");
  CHECK(reread("n multiple_of 0") ==
        "size:1:1: dim 'n': its multiple_of facts have no common multiple from 1 to 2^63 - 2; correct or drop one\n"
        "n multiple_of 0\n"
        "^");
  CHECK(reread("n + (n in 1..4)") ==
        "size:1:6: dim 'n': promised n in 1..4, expected n in 0.. as elsewhere; state the same facts everywhere\n"
        "n + (n in 1..4)\n"
        "     ^");
}

TEST_CASE("a size that is too large to count, to nest or to multiply out is refused") {
  CHECK(reread("n - 9223372036854775808*m") == "-9223372036854775808*m + n");
  CHECK(reread("n + 9223372036854775808") ==
        "size:1:5: found 9223372036854775808, expected a number within int64; lower it\n"
        "n + 9223372036854775808\n"
        "    ^");
  CHECK(reread("-92233720368547758080") ==
        "size:1:2: found -92233720368547758080, expected a number within int64; lower it\n"
        "-92233720368547758080\n"
        " ^");
  const auto nested = [](std::size_t depth) { return std::string(depth, '(') + "n" + std::string(depth, ')'); };
  CHECK(reread(nested(63)) == "n");
  CHECK(reread(nested(64)).starts_with("size:1:65: found 65 nested sizes, expected fewer; split the size\n"));
  CHECK(reread(nested(100'000)).starts_with("size:1:65: found 65 nested sizes"));
  std::string power = "(a0 + b0)";
  for (int i = 1; i < 30; ++i) power += "*(a" + std::to_string(i) + " + b" + std::to_string(i) + ")";
  CHECK(reread(power).starts_with(
      "size:1:1: found a size of 500 parts or more when it is multiplied out, expected fewer; simplify it\n"));
}

}  // namespace
}  // namespace millrace::testing
