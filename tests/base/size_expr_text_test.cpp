// SPDX-License-Identifier: Apache-2.0
// Text shows all of a form: a reader that builds what the text says gets the form back.
#include <charconv>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/base/random_size_expr.h"

namespace millrace::testing {
namespace {

/// sum := [-] product {(+ | -) product};  product := atom {* atom};  atom := number | name | function(sum {, sum})
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  SizeExpr read_all() {
    SizeExpr expr = read_sum();
    REQUIRE(rest_.empty());
    return expr;
  }

 private:
  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  SizeExpr read_sum() {
    SizeExpr sum = take("-") ? -1 * read_product() : read_product();
    while (true) {
      if (take(" + ")) {
        sum = sum + read_product();
      } else if (take(" - ")) {
        sum = sum - read_product();
      } else {
        return sum;
      }
    }
  }

  SizeExpr read_product() {
    SizeExpr product = read_atom();
    while (take("*")) product = product * read_atom();
    return product;
  }

  SizeExpr read_atom() {
    if (take("floor_div(")) return read_call(floor_div);
    if (take("min(")) return read_call(min);
    if (take("max(")) return read_call(max);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error == std::errc()) {
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      return number;
    }
    for (const Dim& symbol : random_symbols()) {
      if (take(symbol.name())) return symbol;
    }
    FAIL("cannot read '" << std::string(rest_) << "'");
    return {};
  }

  SizeExpr read_call(SizeExpr (*function)(const SizeExpr&, const SizeExpr&)) {
    SizeExpr result = read_sum();
    while (take(", ")) result = function(result, read_sum());
    REQUIRE(take(")"));
    return result;
  }

  std::string_view rest_;
};

}  // namespace

TEST_CASE("building what the text says gives the form back") {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const SizeExpr expr = random_expr(random, 1 + i % 5).built;
    const SizeExpr again = Reader(expr.to_text()).read_all();
    if (again != expr) FAIL_CHECK(expr.to_text() << " came back as " << again.to_text());
  }
}

}  // namespace millrace::testing
