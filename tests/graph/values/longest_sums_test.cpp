// SPDX-License-Identifier: Apache-2.0
// Sums of a hundred million terms on the host's best level, against exact ones. Too long for every commit.
#include <array>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/graph/values/long_sums.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

constexpr std::int64_t kLongest = 100'000'000;

void check_longest_rows(const char* terms) {
  const std::string best[] = {test::cpu_levels().back()};
  const reference::Extents rows[] = {{1, kLongest}};
  test::check_matrices(DType::kF32, test::Along::kRows, best, rows, std::array{terms});
}

void check_longest_columns(const char* terms) {
  const std::string best[] = {test::cpu_levels().back()};
  const reference::Extents columns[] = {{kLongest / 4, 4}};
  test::check_matrices(DType::kF32, test::Along::kColumns, best, columns, std::array{terms});
}

/// The same dot twice: by matmul, and by reduce_sum of an elementwise product.
void check_longest_dot(const test::Factors& factors) {
  GraphBuilder builder("dot");
  const SizeExpr k = Dim("k").at_least(1);
  const Tensor x = builder.input("x", DType::kF32, {1, k}), y = builder.input("y", DType::kF32, {k, 1});
  builder.output("product", matmul(x, y));
  builder.output("sum", reduce_sum(reshape(x, {k}) * reshape(y, {k}), {0}));
  const Program program = test::compile_on(test::cpu_levels().back(), builder.finish().value());
  const test::Products products(factors, {1, kLongest}, {kLongest, 1});
  const test::ExactSum exact = products.exact_product(0);
  for (const reference::Tensor& found : test::run_once(program, std::array{products.x, products.y})) {
    const std::string wrong = products.check(test::element(found, 0), exact);
    CHECK_MESSAGE(wrong == "", factors.x, " times ", factors.y, ": ", wrong);
  }
}

TEST_CASE("the matrix of sums of a hundred million f32: totals, columns, means and dots" * test::Sliced()) {
  using Check = void (*)();
  constexpr Check kChecks[] = {
      [] { check_longest_rows("ones"); },
      [] { check_longest_rows("tenths"); },
      [] { check_longest_rows("hundreds"); },
      [] { check_longest_columns("ones"); },
      [] { check_longest_columns("tenths"); },
      [] { check_longest_columns("hundreds"); },
      [] { check_longest_dot({"ones", "ones"}); },
      [] { check_longest_dot({"hundreds", "tenths"}); },
      [] { check_longest_dot({"one large", "ones"}); },
  };
  const test::Slice slice = test::tested_slice_of_long_cases();
  for (std::size_t i = 0; i < std::size(kChecks); ++i) {
    if (slice.has(i + 1)) kChecks[i]();
  }
}

}  // namespace
}  // namespace millrace
