// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "millrace/base/size_expr.h"

namespace millrace {

TEST_CASE("facts add up: the stricter bound, the least common multiple") {
  const Dim dim = Dim("n").at_least(5).at_least(3).at_most(90).at_most(100).multiple_of(4).multiple_of(6);
  CHECK(dim.min() == 5);
  CHECK(dim.max() == 90);
  CHECK(dim.multiple() == 12);
  CHECK(dim.facts_to_text() == "at_least(5).at_most(90).multiple_of(12)");
  CHECK(Dim("n").facts_to_text() == "at_least(0)");
  CHECK(Dim("n").at_least(-4) == Dim("n"));
}

TEST_CASE("a dim allows the values that satisfy every fact") {
  const Dim dim = Dim("n").at_least(5).at_most(24).multiple_of(4);
  for (const std::int64_t value : {8, 12, 24}) CHECK(dim.allows(value));
  for (const std::int64_t value : {-8, 0, 4, 9, 28}) CHECK(!dim.allows(value));
}

TEST_CASE("bounds of a symbol are the first and last multiple inside its facts") {
  const SizeExpr n = Dim("n").at_least(5).at_most(27).multiple_of(4);
  CHECK(n.lower_bound() == 8);
  CHECK(n.upper_bound() == 24);
}

TEST_CASE("a dim whose facts some value satisfies is accepted") {
  CHECK(Dim("n").check().ok());
  CHECK(Dim("_x.rows9").check().ok());
  CHECK(Dim("n").at_most(0).multiple_of(128).check().ok());
  CHECK(Dim("n").at_least(128).at_most(128).multiple_of(128).check().ok());
}

TEST_CASE("a dim whose facts no value satisfies is refused with its facts") {
  CHECK(Dim("n").at_most(-1).check().message() ==
        "dim 'n': no value keeps n in 0..-1, expected at least one; loosen a fact");
  CHECK(Dim("n").at_least(129).at_most(255).multiple_of(128).check().message() ==
        "dim 'n': no value keeps n in 129..255 multiple_of 128, expected at least one; loosen a fact");
}

TEST_CASE("a multiple below 1, or too large for int64, is refused and harmless") {
  const char* const message =
      "dim 'n': its multiple_of facts have no common multiple from 1 to 2^63 - 2; correct or drop one";
  const Dim dims[] = {Dim("n").multiple_of(0), Dim("n").multiple_of(-4), Dim("n").multiple_of(0).multiple_of(4),
                      Dim("n").multiple_of((1LL << 62) - 1).multiple_of(1LL << 61)};
  for (const Dim& dim : dims) {
    CHECK(dim.check().message() == message);
    const SizeExpr n = dim;
    CHECK(n.known_multiple() == 1);
    CHECK(floor_div(n * 4, 4) == n);
  }
}

TEST_CASE("a dim's name must be one that text can show") {
  for (const char* name : {"", "4n", "a b", "n*m", "x-y", "\xc3\xa9"}) {
    CHECK(Dim(name).check().message() ==
          "dim '" + std::string(name) +
              "': found this name, expected a letter or '_', then letters, digits, '_' or '.'; rename it");
  }
}

TEST_CASE("a dim's name must not be a number or a bool of text") {
  for (const char* name : {"true", "false", "inf", "nan"}) {
    CHECK(Dim(name).check().message() == "dim '" + std::string(name) +
                                             "': found this name, expected one that does not read as a number or a "
                                             "bool; rename it");
  }
}

TEST_CASE("bounds without a multiple between them are refused, at the end of int64 too") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(Dim("n").multiple_of(kMax - 1).check().ok());
  CHECK(Dim("n").at_least(1).multiple_of(kMax - 1).check().ok());
  CHECK(Dim("n").at_least(kMax).check().ok());
  CHECK(Dim("n").at_least(kMax - 1).multiple_of(128).check().message() ==
        "dim 'n': no value keeps n in 9223372036854775806.. multiple_of 128, expected at least one; loosen a fact");
}

TEST_CASE("facts at the ends of int64 do not overflow") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const SizeExpr n = Dim("n").at_least(kMax - 1).multiple_of(128);
  CHECK(n.lower_bound() == kMax);
  CHECK(SizeExpr(Dim("n").at_most(kMax - 1).multiple_of(128)).upper_bound() == kMax - 127);
}

}  // namespace millrace
