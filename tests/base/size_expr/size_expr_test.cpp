// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/size_expr.h"

#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/size_expr/never_negative.h"

namespace millrace {
namespace {

const SizeExpr n = Dim("n");
const SizeExpr m = Dim("m");
const SizeExpr p = Dim("p").at_least(1);
const SizeExpr rows = Dim("rows").at_least(1).at_most(524160).multiple_of(128);

}  // namespace

TEST_CASE("terms are counted as a form is written") {
  const std::pair<SizeExpr, std::size_t> counts[] = {
      {0, 1},     {7, 1}, {n, 1}, {n + 1, 2}, {n * m * 4, 1}, {(n + 1) * (m + 2), 4}, {floor_div(n + m + 1, 4), 1},
      {n - n, 1},
  };
  for (const auto& [expr, count] : counts) {
    CAPTURE(expr.to_text());
    CHECK(expr.num_terms() == count);
  }
}

TEST_CASE("a form reads as its canonical text") {
  const std::pair<SizeExpr, const char*> texts[] = {
      {SizeExpr(), "0"},
      {-7, "-7"},
      {n, "n"},
      {-1 * n, "-n"},
      {4 - n, "-n + 4"},
      {n * 4 + m * n - 3, "m*n + 4*n - 3"},
      {n * n * m, "m*n*n"},
      {(n + 1) * (n - 1), "n*n - 1"},
      {floor_div(n, 0), "floor_div(n, 0)"},
      {floor_div(n + 9, m), "floor_div(n + 9, m)"},
      {ceil_div(n, 128), "floor_div(n + 127, 128)"},
      {ceil_div(n, p), "floor_div(n - 1, p) + 1"},
      {min(n, min(4, m)), "min(m, n, 4)"},
      {max(min(m, n), 3) * 2, "2*max(min(m, n), 3)"},
      {rows - 1, "rows - 1"},
      {3 * floor_div(rows, 128), "3*floor_div(rows, 128)"},
      {floor_div(rows + n, 256), "floor_div(n + rows, 256)"},
      {min(rows, 256), "min(rows, 256)"},
      {floor_div(rows, 4 * p), "floor_div(rows, 4*p)"},
      {rows * floor_div(rows, 128), "rows*floor_div(rows, 128)"},
      {floor_div(floor_div(n, 0), 5), "floor_div(floor_div(n, 0), 5)"},
      {min(floor_div(Dim("big").multiple_of(1LL << 40), 1LL << 40), 1 << 30),
       "min(floor_div(big, 1099511627776), 1073741824)"},
      {floor_div(floor_div(Dim("big").multiple_of(1LL << 40), 1LL << 40), 1 << 30),
       "floor_div(floor_div(big, 1099511627776), 1073741824)"},
      {std::numeric_limits<std::int64_t>::min(), "-9223372036854775808"},
  };
  for (const auto& [expr, text] : texts) CHECK(expr.to_text() == text);
}

TEST_CASE("expressions that are equal for every binding get one form") {
  const std::pair<SizeExpr, SizeExpr> equals[] = {
      {n * 4 - n * 3, n},
      {(n + m) * (n - m), n * n - m * m},
      {floor_div(n * 4, 4), n},
      {floor_div(n * 5 + 7, 4), n + floor_div(n + 3, 4) + 1},
      {floor_div(n * 4 + 7, 8), floor_div(n + 1, 2)},
      {floor_div(floor_div(n, 3) + m, 5), floor_div(n + 3 * m, 15)},
      {floor_div(n * p * 6, p * 2), n * 3},
      {floor_div(n * p + m, p), n + floor_div(m, p)},
      {floor_div((n + 1) * (n + m), n + 1), n + m},
      {floor_div(n * 2 + 1, p * 2), floor_div(n, p)},
      {floor_div(n * 2 + 3, n * 2 + 2), 1},
      {floor_div(min(n, 3), 4), 0},
      {min(n, n + 1), n},
      {max(n, n - m), n},
      {min(max(n, 3), 3), 3},
      {max(n, 0), n},
      {min(n * 6, m * 4), min(n * 3, m * 2) * 2},
      {p * min(p, 1), p},
      {n * min(n, 1), n},
      {min(n, 1) * min(n, 1), min(n, 1)},
  };
  for (const auto& [a, b] : equals) CHECK_MESSAGE(a == b, a.to_text() << " and " << b.to_text());
}

TEST_CASE("a promised multiple makes division exact") {
  CHECK(floor_div(rows, 128) * 128 == rows);
  CHECK(ceil_div(rows, 128) == floor_div(rows, 128));
  CHECK(floor_div(rows + 127, 128) == floor_div(rows, 128));
  CHECK(floor_div(rows * n, 64) == floor_div(rows, 64) * n);
  CHECK(floor_div(min(rows, 256), 128) * 128 == min(rows, 256));
}

TEST_CASE("forms that differ in value somewhere differ") {
  CHECK(n != m);
  CHECK(n != 4);
  CHECK(SizeExpr(4) != n);
  CHECK(SizeExpr(4) != SizeExpr(5));
  CHECK(floor_div(n, 4) * 4 != n);
  CHECK(ceil_div(n, 4) != floor_div(n, 4));
  CHECK(floor_div(n * m, m) != n);  // m may be 0
  CHECK(n * n != n);
  const SizeExpr any_sign = floor_div(n - m, 2);
  CHECK(any_sign * min(any_sign, 1) != any_sign);
  CHECK(min(any_sign, 1) * min(any_sign, 1) != min(any_sign, 1));
}

TEST_CASE("one name with different facts is a different symbol") {
  for (const Dim& dim : {Dim("n").at_least(1), Dim("n").at_most(1), Dim("n").multiple_of(2)}) {
    CAPTURE(dim.facts_to_text());
    CHECK(n != SizeExpr(dim));
    CHECK(!(n - dim).is(0));
  }
}

TEST_CASE("a product with 0 is 0, whatever the rest") {
  CHECK((n * 0).is(0));
  CHECK((0 * floor_div(n, m)).is(0));
}

TEST_CASE("bounds and multiples are as tight as the facts allow") {
  struct Case {
    SizeExpr expr;
    std::int64_t lower;
    std::int64_t upper;
    std::int64_t multiple;
  };
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const SizeExpr few = Dim("few").at_least(2).at_most(9);
  constexpr std::int64_t kLargest = 524160;  // of rows
  const SizeExpr huge = Dim("huge").at_least(kMax / 2);
  const Case cases[] = {
      {0, 0, 0, 0},
      {-12, -12, -12, 12},
      {n, 0, kMax, 1},
      {-1 * n, kMin, 0, 1},
      {n - m, kMin, kMax, 1},
      {rows, 128, 524160, 128},
      {rows * 6 - 64, 704, 3144896, 64},
      {few * few - few, 2, 72, 1},
      {few - few * few, -72, -2, 1},
      {rows * rows - rows, 128 * 127, kLargest * (kLargest - 1), 128},
      {(n + 1) * (m + 1) - (n + 1), 0, kMax, 1},
      {few * few * few - 2 * few * few, 0, 567, 1},
      {few * -3, -27, -6, 3},
      {floor_div(few, 3), 0, 3, 1},
      {floor_div(few - 9, 2), -4, 0, 1},
      {floor_div(rows, few), 14, 262080, 1},
      {floor_div(rows, 64), 2, 8190, 2},
      {min(few, rows), 2, 9, 1},
      {max(few, 5), 5, 9, 1},
      {min(rows, 192), 128, 192, 64},
      {max(n, 3), 3, kMax, 1},
      {huge * 4 - n, kMin, kMax, 1},
      {n - huge * 4, kMin, kMax, 1},
      {kMin, kMin, kMin, 1},
      {n * kMax, 0, kMax, 1},
  };
  for (const auto& [expr, lower, upper, multiple] : cases) {
    CAPTURE(expr.to_text());
    CHECK(expr.lower_bound() == lower);
    CHECK(expr.upper_bound() == upper);
    CHECK(expr.known_multiple() == multiple);
  }
}

TEST_CASE("a remainder is never negative, and less than the divisor") {
  const SizeExpr few = Dim("few").at_least(2).at_most(9);
  const SizeExpr odd = n + 1 - 2 * floor_div(n + 1, 2), padding = 16 * floor_div(m + 15, 16) - m;
  for (const SizeExpr& expr : {odd, 1 - odd, padding, 15 - padding, 4 * odd + 3 * padding, few - padding + 13, n}) {
    CAPTURE(expr.to_text());
    CHECK(is_never_negative(expr));
  }
  for (const SizeExpr& expr : {odd - 1, -1 * odd, 14 - padding, padding - 1, few - padding + 12, n - 1}) {
    CAPTURE(expr.to_text());
    CHECK_FALSE(is_never_negative(expr));
  }
}

TEST_CASE("constants stay constants") {
  CHECK((SizeExpr(6) * 7 + 2 - 1).constant() == 43);
  CHECK(floor_div(-7, 2).constant() == -4);
  CHECK(ceil_div(-7, 2).constant() == -3);
  CHECK(ceil_div(7, 2).constant() == 4);
  CHECK(min(SizeExpr(3), 4).constant() == 3);
  CHECK(max(SizeExpr(3), 4).constant() == 4);
  CHECK(!floor_div(SizeExpr(4), 0).is_constant());
  CHECK(!n.is_constant());
  CHECK(!n.is(0));
}

TEST_CASE("form_less orders constants by value, after all other forms") {
  CHECK(form_less(3, 4));
  CHECK(!form_less(4, 3));
  CHECK(form_less(n, 3));
  CHECK(!form_less(3, n));
  CHECK(form_less(m, n));
  CHECK(form_less(n * n, n));
}

TEST_CASE("the symbols of a form are collected from everywhere in it") {
  std::map<std::string, Dim> symbols;
  REQUIRE((min(floor_div(n, m + 1), rows) * p).collect_symbols(symbols).ok());
  std::vector<std::string> names;
  for (const auto& [name, dim] : symbols) names.push_back(name + ": " + dim.facts_to_text());
  const std::vector<std::string> expected = {"m: at_least(0)", "n: at_least(0)", "p: at_least(1)",
                                             "rows: at_least(1).at_most(524160).multiple_of(128)"};
  CHECK(names == expected);
}

TEST_CASE("a symbol with two sets of facts is refused, inside one form and between two") {
  const SizeExpr other = Dim("n").at_least(1).multiple_of(8);
  const char* const message =
      "dim 'n': promised n in 1.. multiple_of 8, expected n in 0.. as elsewhere; state the same facts everywhere";
  std::map<std::string, Dim> symbols;
  REQUIRE(n.collect_symbols(symbols).ok());
  CHECK(n.collect_symbols(symbols).ok());
  CHECK(other.collect_symbols(symbols).message() == message);
  std::map<std::string, Dim> fresh;
  CHECK((n * 2 + other).collect_symbols(fresh).message() == message);
}

TEST_CASE("collecting refuses a symbol that contradicts itself") {
  std::map<std::string, Dim> symbols;
  CHECK(SizeExpr(Dim("n").at_least(5).at_most(4)).collect_symbols(symbols).message() ==
        "dim 'n': no value keeps n in 5..4, expected at least one; loosen a fact");
}

}  // namespace millrace
