// SPDX-License-Identifier: Apache-2.0
// Claims about every size expression, checked on random ones. Seeds are fixed; failures print the form and the
// bindings.
#include <algorithm>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "base/size_expr/is_saturated.h"
#include "base/size_expr/never_negative.h"
#include "tests/base/size_expr/random_size_expr.h"

namespace millrace::testing {
namespace {

constexpr int kRepeats = 20000;

std::string bindings_text(const SymbolValues& values) {
  std::string text;
  for (const auto& [name, value] : values) text += name + "=" + std::to_string(value) + " ";
  return text;
}

}  // namespace

TEST_CASE("a simplified expression evaluates to the value of the original") {
  std::mt19937 random(1);
  int compared = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const RandomExpr expr = random_expr(random, 1 + i % 5);
    for (int j = 0; j < 4; ++j) {
      const SymbolValues values = random_bindings(random);
      const auto expected = expr.value(values);
      if (!expected) continue;  // an expression that divides by 0 may simplify to one that does not
      ++compared;
      const Result<std::int64_t> value = expr.built.evaluate(values);
      const bool same = value.ok() && *value == *expected;
      if (!same) {
        FAIL_CHECK(expr.built.to_text() << " with " << bindings_text(values) << "is "
                                        << (value.ok() ? std::to_string(*value) : value.status().message())
                                        << ", expected " << *expected);
      }
    }
  }
  CHECK(compared > kRepeats);
}

TEST_CASE("bounds and the known multiple hold for every binding that satisfies the facts") {
  std::mt19937 random(2);
  int finite = 0;
  int divisible = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const RandomExpr expr = random_expr(random, 1 + i % 5);
    const std::int64_t lower = expr.built.lower_bound();
    const std::int64_t upper = expr.built.upper_bound();
    const std::int64_t multiple = expr.built.known_multiple();
    const bool is_natural = is_never_negative(expr.built);
    finite += !saturating::is_end(lower) && !saturating::is_end(upper) ? 1 : 0;
    divisible += multiple > 1 ? 1 : 0;
    for (int j = 0; j < 4; ++j) {
      const SymbolValues values = random_bindings(random);
      const auto value = expr.value(values);
      if (!value) continue;
      const bool holds = lower <= *value && *value <= upper && (multiple == 0 ? *value == 0 : *value % multiple == 0);
      if (is_natural && *value < 0) FAIL_CHECK(expr.built.to_text() << " is " << *value << ", below 0");
      if (!holds) {
        FAIL_CHECK(expr.built.to_text() << " with " << bindings_text(values) << "is " << *value << ", bounds [" << lower
                                        << ", " << upper << "], multiple " << multiple);
      }
    }
  }
  CHECK(finite > kRepeats / 10);
  CHECK(divisible > kRepeats / 20);
}

TEST_CASE("equal forms have equal values and one text; different forms have different texts") {
  std::mt19937 random(3);
  std::map<std::string, RandomExpr> seen;
  int met_again = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const RandomExpr expr = random_expr(random, 1 + i % 3);
    const auto [entry, inserted] = seen.emplace(expr.built.to_text(), expr);
    const RandomExpr& known = entry->second;
    CHECK_MESSAGE(known.built == expr.built, expr.built.to_text());
    CHECK(!form_less(known.built, expr.built));
    CHECK(!form_less(expr.built, known.built));
    if (inserted) continue;
    ++met_again;
    const SymbolValues values = random_bindings(random);
    const auto a = known.value(values);
    const auto b = expr.value(values);
    if (a && b && *a != *b) FAIL_CHECK(expr.built.to_text() << " with " << bindings_text(values) << *a << " " << *b);
  }
  CHECK(met_again > kRepeats / 10);
  const SizeExpr* previous = nullptr;
  for (const auto& [text, expr] : seen) {
    if (previous != nullptr) {
      CHECK_MESSAGE(*previous != expr.built, text);
      CHECK_MESSAGE(form_less(*previous, expr.built) != form_less(expr.built, *previous), text);
    }
    previous = &expr.built;
  }
}

TEST_CASE("forms obey the laws of a ring") {
  std::mt19937 random(4);
  for (int i = 0; i < kRepeats / 10; ++i) {
    const SizeExpr x = random_expr(random, i % 3).built;
    const SizeExpr y = random_expr(random, i % 4).built;
    const SizeExpr z = random_expr(random, 2).built;
    CAPTURE(x.to_text());
    CAPTURE(y.to_text());
    CAPTURE(z.to_text());
    CHECK(x + y == y + x);
    CHECK(x * y == y * x);
    CHECK((x + y) + z == x + (y + z));
    CHECK((x * y) * z == x * (y * z));
    CHECK(x * (y + z) == x * y + x * z);
    CHECK((x - x).is(0));
    CHECK(x - y == x + y * -1);
  }
}

TEST_CASE("minimum and maximum do not care about order, grouping or repetition") {
  std::mt19937 random(5);
  for (int i = 0; i < kRepeats / 10; ++i) {
    const SizeExpr x = random_expr(random, i % 3).built;
    const SizeExpr y = random_expr(random, i % 2).built;
    const SizeExpr z = random_expr(random, 1).built;
    CAPTURE(x.to_text());
    CAPTURE(y.to_text());
    CAPTURE(z.to_text());
    CHECK(min(x, y) == min(y, x));
    CHECK(max(x, y) == max(y, x));
    CHECK(min(min(x, y), z) == min(x, min(y, z)));
    CHECK(max(max(x, y), z) == max(x, max(y, z)));
    CHECK(min(x, x) == x);
    CHECK(max(x, x) == x);
    CHECK(min(x * 6, y * 6) == min(x, y) * 6);
  }
}

TEST_CASE("division undoes multiplication, by a constant and by a size that is known to be positive") {
  std::mt19937 random(6);
  const SizeExpr positive = Dim("b").at_least(1);
  const SizeExpr blocked = Dim("f").at_least(3).multiple_of(6).at_most(60);
  for (int i = 0; i < kRepeats / 10; ++i) {
    const SizeExpr x = random_expr(random, i % 4).built;
    const std::int64_t factor = 1 + i % 37;
    CAPTURE(x.to_text());
    CHECK(floor_div(x * factor, factor) == x);
    CHECK(ceil_div(x * factor, factor) == x);
    CHECK(floor_div(x * factor + factor - 1, factor) == x);
    CHECK(floor_div(x * positive, positive) == x);
    CHECK(floor_div(x * blocked, blocked) == x);
    CHECK(floor_div(floor_div(x, factor), 5) == floor_div(x, factor * 5));
  }
}

TEST_CASE("a quotient is right wherever it is within int64, at the ends too") {
  __extension__ typedef __int128 Wide;
  std::mt19937_64 random(8);
  const Dim n("n");
  const auto near_end = [&random](std::int64_t end) {
    const auto far = static_cast<std::int64_t>(random() >> 1 >> random() % 63);
    return end < 0 ? end + 2 + std::min(far, saturating::kMax - 1) : end - 1 - std::min(far, end - 2);
  };
  for (int i = 0; i < kRepeats; ++i) {
    const std::int64_t a = near_end(i % 2 == 0 ? saturating::kMax : saturating::kMin);
    const std::int64_t b = near_end(saturating::kMax);
    const std::int64_t shift = near_end(saturating::kMax) >> random() % 62;
    CAPTURE(a);
    CAPTURE(b);
    CAPTURE(shift);
    const auto floor_of = [&](Wide x) { return static_cast<std::int64_t>(x / b - (x % b < 0 ? 1 : 0)); };
    const auto ceil_of = [&](Wide x) { return static_cast<std::int64_t>(x / b + (x % b > 0 ? 1 : 0)); };
    CHECK(ceil_div(a, b).is(ceil_of(a)));
    CHECK(floor_div(a, b).is(floor_of(a)));
    if (a < 0) continue;
    const SymbolValues values{{"n", a}};
    CHECK(ceil_div(n, b).evaluate(values).value() == ceil_of(a));
    if (b > 1) {
      CHECK(floor_div(SizeExpr(n) + shift, b).evaluate(values).value() == floor_of(Wide{a} + shift));
      CHECK(ceil_div(SizeExpr(n) + shift, b).evaluate(values).value() == ceil_of(Wide{a} + shift));
    }
  }
  CHECK(ceil_div(n, 128).evaluate({{"n", saturating::kMax}}).value() == saturating::kMax / 128 + 1);
  CHECK(ceil_div(4, saturating::kMax).is(1));
  CHECK(ceil_div(0, saturating::kMax).is(0));
}

TEST_CASE("symbols of huge multiples keep their values, and 0 times anything is 0") {
  for (const std::int64_t multiple :
       {std::int64_t{1} << 40, (std::int64_t{1} << 62) - 1, std::int64_t{1} << 62, saturating::kMax - 1}) {
    CAPTURE(multiple);
    const Dim n = Dim("n").multiple_of(multiple), m = Dim("m").multiple_of(multiple);
    REQUIRE(n.check().ok());
    const SizeExpr size = n, product = SizeExpr(n) * m * 12 + 7 * size;
    CHECK(size.evaluate({{"n", multiple}}).value() == multiple);
    CHECK(ceil_div(size + 5, 8).evaluate({{"n", multiple}}).value() ==
          (multiple - multiple % 8) / 8 + (multiple % 8 + 12) / 8);
    CHECK(product.evaluate({{"n", 0}, {"m", multiple}}).value() == 0);
    CHECK(floor_div(product, 5).evaluate({{"n", 0}, {"m", 0}}).value() == 0);
    CHECK(!product.evaluate({{"n", multiple}, {"m", multiple}}).ok());
    CHECK(is_saturated(product));
    CHECK(is_saturated(size - product));
    CHECK(!is_saturated(size + 5));
    std::map<std::string, Dim> stated, symbols;
    const std::string text = product.to_text(stated);
    CHECK_MESSAGE(parse_size_expr(text, symbols).value() == product, text);
  }
}

}  // namespace millrace::testing
