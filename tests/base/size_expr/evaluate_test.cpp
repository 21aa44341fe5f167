// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <doctest/doctest.h>

#include "millrace/base/size_expr.h"

namespace millrace {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
const SizeExpr n = Dim("n");
const SizeExpr m = Dim("m");

std::string message_of(const SizeExpr& expr, const SymbolValues& values) {
  const Result<std::int64_t> result = expr.evaluate(values);
  if (!result.ok()) CHECK(result.status().code() == StatusCode::kInvalidArgument);
  return result.status().message();
}

}  // namespace

TEST_CASE("a form evaluates with its symbols bound") {
  const SymbolValues values = {{"m", 3}, {"n", 10}};
  CHECK(*SizeExpr(5).evaluate({}) == 5);
  CHECK(*(n * m - 4).evaluate(values) == 26);
  CHECK(*floor_div(m - n, 4).evaluate(values) == -2);
  CHECK(*ceil_div(n, m).evaluate(values) == 4);
  CHECK(*min(n, m).evaluate(values) == 3);
  CHECK(*max(n, m * 5).evaluate(values) == 15);
}

TEST_CASE("an unbound symbol is named, with those that are bound") {
  CHECK(message_of(n * 4, {}) == "size 4*n: symbol 'n' has no value, bound: nothing; bind it");
  CHECK(message_of(n + m, {{"m", 3}, {"k", 2}}) == "size m + n: symbol 'n' has no value, bound: k = 2, m = 3; bind it");
  CHECK(message_of(max(floor_div(n, 3), 1), {}) ==
        "size max(floor_div(n, 3), 1): symbol 'n' has no value, bound: nothing; bind it");
}

TEST_CASE("a value that breaks a fact is refused, with the promise") {
  const SizeExpr rows = Dim("rows").at_least(1).at_most(524160).multiple_of(128);
  CHECK(message_of(rows * 2, {{"rows", 129}}) ==
        "size 2*rows: symbol 'rows' is 129, expected rows in 1..524160 multiple_of 128; bind a value that "
        "keeps the promise");
  CHECK(message_of(rows, {{"rows", 0}}) ==
        "size rows: symbol 'rows' is 0, expected rows in 1..524160 multiple_of 128; bind a value that keeps "
        "the promise");
  CHECK(message_of(n, {{"n", -1}}) ==
        "size n: symbol 'n' is -1, expected n in 0..; bind a value that keeps the promise");
  CHECK(*rows.evaluate({{"rows", 524160}}) == 524160);
}

TEST_CASE("a divisor below 1 is an error of evaluate, never an abort") {
  CHECK(message_of(floor_div(n, m), {{"m", 0}, {"n", 5}}) ==
        "size floor_div(n, m): divisor m is 0 with m = 0, n = 5, expected at least 1; bind other values");
  CHECK(message_of(floor_div(n, m - 4), {{"m", 1}, {"n", 5}}) ==
        "size floor_div(n, m - 4): divisor m - 4 is -3 with m = 1, n = 5, expected at least 1; bind other values");
  CHECK(message_of(floor_div(SizeExpr(4), 0), {}) ==
        "size floor_div(4, 0): divisor 0 is 0 with nothing, expected at least 1; bind other values");
}

TEST_CASE("a value that leaves int64 is an error that shows the bindings") {
  CHECK(message_of(n * m, {{"m", kMax / 2}, {"n", 3}}) ==
        "size m*n: overflows int64 with m = 4611686018427387903, n = 3, expected a value below 2^63; bind smaller "
        "values");
  CHECK(message_of(n + m, {{"m", kMax}, {"n", 1}}) ==
        "size m + n: overflows int64 with m = 9223372036854775807, n = 1, expected a value below 2^63; bind smaller "
        "values");
  CHECK(message_of(n + 1, {{"n", kMax}}) ==
        "size n + 1: overflows int64 with n = 9223372036854775807, expected a value below 2^63; bind smaller values");
  CHECK(*(n * 2 - 1).evaluate({{"n", kMax / 2}}) == kMax - 2);
}

TEST_CASE("an overflow during building is an error too, whatever comes after it") {
  const char* const message =
      "size 9223372036854775807: overflows int64 with nothing, expected a value below 2^63; bind smaller values";
  CHECK(message_of(SizeExpr(kMax / 2) * 3, {}) == message);
  CHECK(message_of(SizeExpr(kMax / 2) * 3 - kMax / 2, {}) == message);
  CHECK(message_of(floor_div(SizeExpr(kMax / 2) * 3, 1000), {}) == message);
  CHECK(!(n * kMax * 2).evaluate({{"n", 1}}).ok());
  CHECK(!floor_div(n * kMax, 8).evaluate({{"n", 1}}).ok());
  const SizeExpr p = Dim("p").at_least(1);
  CHECK(!floor_div(n + SizeExpr(kMax), n + 1).evaluate({{"n", 1}}).ok());
  CHECK(!floor_div(n * p * kMax, p * 7).evaluate({{"n", 1}, {"p", 1}}).ok());  // 7 divides 2^63 - 1
  CHECK(!floor_div(n * 4 + SizeExpr(kMax), p * 4).evaluate({{"n", 1}, {"p", 1}}).ok());
  CHECK(!floor_div(n * 4, p * kMax).evaluate({{"n", 1}, {"p", 1}}).ok());
}

}  // namespace millrace
