// SPDX-License-Identifier: Apache-2.0
// Sums of up to ten million terms, in every place where a kernel sums, against exact ones: no accumulator may run long.
#include "tests/graph/values/long_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/millrace.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::Along;
using test::check_matrices;
using test::compile_on;
using test::cpu_levels;
using test::element;
using test::ExactSum;
using test::ExactSums;
using test::Factors;
using test::kFactors;
using test::Products;
using test::run_once;
using test::Terms;
using Extents = reference::Extents;
using Inputs = std::vector<reference::Tensor>;

constexpr const char* kFewTerms[] = {"ones", "tenths", "hundreds", "all scales"};

std::vector<const char*> every_kind_of_terms() {
  std::vector<const char*> names;
  for (const Terms& terms : test::all_terms()) names.push_back(terms.name);
  return names;
}

TEST_CASE("long sums of f32 are near the exact ones, along rows, along columns and of all" * test::Sliced()) {
  const Extents wide[] = {{1, 1000}, {1, 16'385}, {3, 33'333}, {700, 1500}, {1, 1'000'003}};
  const Extents tall[] = {{333, 3}, {50'000, 2}, {1500, 700}, {333'333, 3}, {62'500, 16}};
  check_matrices(DType::kF32, Along::kRows, cpu_levels(), wide, every_kind_of_terms());
  check_matrices(DType::kF32, Along::kColumns, cpu_levels(), tall, every_kind_of_terms());
}

TEST_CASE("sums of ten million f32 are near the exact ones" * test::Sliced()) {
  const Extents wide[] = {{1, 10'000'000}}, tall[] = {{2'500'000, 4}};
  check_matrices(DType::kF32, Along::kRows, cpu_levels(), wide, kFewTerms);
  check_matrices(DType::kF32, Along::kColumns, cpu_levels(), tall, kFewTerms);
}

TEST_CASE("long sums of other floats are near the exact ones" * test::Sliced()) {
  const Extents wide[] = {{1, 1000}, {2, 100'003}}, tall[] = {{1000, 1}, {100'003, 2}};
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
    check_matrices(dtype, Along::kRows, cpu_levels(), wide, every_kind_of_terms());
    check_matrices(dtype, Along::kColumns, cpu_levels(), tall, every_kind_of_terms());
  }
}

TEST_CASE("long sums of constant size are near the exact ones" * test::Sliced()) {
  for (const Extents& extents : {Extents{1, 1'000'003}, {250'000, 4}, {9, 111'111}, {1000, 1000}}) {
    const Along along = extents[0] < extents[1] ? Along::kRows : Along::kColumns;
    const Graph graph = test::sums_of(DType::kF32, extents[0], extents[1], along);
    for (const std::string& device : cpu_levels()) {
      const Program program = compile_on(device, graph);
      for (const char* name : kFewTerms) {
        const Terms& terms = test::terms_called(name);
        const reference::Tensor x = test::make_terms(terms, DType::kF32, extents);
        CAPTURE(device);
        CAPTURE(x.type.to_text());
        test::check_sums(program, x, ExactSums(x, along), terms);
      }
    }
  }
}

/// The sums over the marked dims.
std::vector<ExactSum> sums_over(const reference::Tensor& x, std::span<const std::int64_t> axes) {
  const Extents extents = x.extents();
  std::vector<ExactSum> sums;
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    std::int64_t rest = i, place = 0, step = 1;
    for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) {
      if (std::ranges::count(axes, static_cast<std::int64_t>(d)) != 0) continue;
      place += rest % extents[d] * step;
      step *= extents[d];
    }
    sums.resize(static_cast<std::size_t>(step));
    sums[static_cast<std::size_t>(place)].add(element(x, i));
  }
  return sums;
}

TEST_CASE("long sums over dims that are apart are near the exact ones" * test::Sliced()) {
  struct Problem {
    Extents extents;
    std::vector<std::int64_t> axes;
  };
  const Problem problems[] = {{{128, 3, 20'000}, {0, 2}},
                              {{20'000, 3, 128}, {0, 2}},
                              {{40, 5, 30, 37}, {0, 2, 3}},
                              {{300, 3, 17, 2, 130}, {0, 2, 4}},
                              {{130, 2, 140, 2, 150}, {0, 2, 4}}};
  for (const Problem& problem : problems) {
    GraphBuilder graph("sums");
    const Extents& extents = problem.extents;
    const Tensor x = graph.input("x", DType::kF32, Shape(std::vector<SizeExpr>(extents.begin(), extents.end())));
    graph.output("sum", reduce_sum(x, problem.axes));
    graph.output("mean", reduce_mean(x, problem.axes));
    const Graph finished = graph.finish().value();
    for (const char* name : {"tenths", "sevenths", "hundreds"}) {
      const Terms& terms = test::terms_called(name);
      const reference::Tensor values = test::make_terms(terms, DType::kF32, extents);
      const std::vector<ExactSum> exact = sums_over(values, problem.axes);
      for (const std::string& device : cpu_levels()) {
        CAPTURE(device);
        const Inputs found = run_once(compile_on(device, finished), std::span(&values, 1));
        for (std::size_t i = 0; i < 2; ++i) test::check_elements(found[i], exact, terms, i == 1);
      }
    }
  }
}

TEST_CASE("long products of vectors and matrices are near the exact ones" * test::Sliced()) {
  // x[m, k] times y[k, n]; and the same as sums of elementwise products, of the first row and column.
  GraphBuilder builder("products");
  const SizeExpr m = Dim("m"), k = Dim("k").at_least(1), n = Dim("n");
  const Tensor x = builder.input("x", DType::kF32, {m, k}), y = builder.input("y", DType::kF32, {k, n});
  builder.output("matmul", matmul(x, y));
  builder.output("einsum", einsum("mk,kn->mn", {x, y}));
  builder.output("transposed", dot(transpose(x, {1, 0}), y, {.x_contract = {0}, .y_contract = {0}}));
  const Graph graph = builder.finish().value();
  struct Sizes {
    std::int64_t m, k, n;
  };
  for (const std::string& device : cpu_levels()) {
    const Program program = compile_on(device, graph);
    for (const Sizes& sizes : {Sizes{1, 1000, 1},
                               {1, 100'000, 1},
                               {1, 1'000'003, 1},
                               {3, 100'003, 5},
                               {1, 65'537, 20},
                               {17, 20'000, 1},
                               {20, 20'000, 40}}) {
      for (const Factors& factors : kFactors) {
        const Products products(factors, {sizes.m, sizes.k}, {sizes.k, sizes.n});
        const Inputs found = run_once(program, std::array{products.x, products.y});
        const std::int64_t num_results = sizes.m * sizes.n, step = num_results > 20 ? 13 : 1;
        for (std::int64_t at = 0; at < num_results; at += step) {
          const ExactSum exact = products.exact_product(at);
          for (const reference::Tensor& result : found) {
            const std::string wrong = products.check(element(result, at), exact);
            CHECK_MESSAGE(wrong == "", device, " ", sizes.m, "x", sizes.k, "x", sizes.n, " ", factors.x, " times ",
                          factors.y, ": ", wrong);
          }
        }
      }
    }
  }
}

TEST_CASE("sums of products, of squares and of square roots are near the exact ones" * test::Sliced()) {
  GraphBuilder builder("products");
  const SizeExpr n = Dim("n").at_least(1);
  const Tensor x = builder.input("x", DType::kF32, {n}), y = builder.input("y", DType::kF32, {n});
  builder.output("products", reduce_sum(x * y, {0}));
  builder.output("squares", reduce_sum(x * x, {0}));
  builder.output("square roots", reduce_sum(sqrt(x), {0}));
  const Graph graph = builder.finish().value();
  for (const std::string& device : cpu_levels()) {
    const Program program = compile_on(device, graph);
    for (const std::int64_t count : {1000, 100'003, 3'000'000}) {
      for (const Factors& factors : kFactors) {
        const Products products(factors, {count}, {count});
        const Inputs found = run_once(program, std::array{products.x, products.y});
        std::array<ExactSum, 3> exact;
        for (std::int64_t i = 0; i < count; ++i) {
          const long double a = element(products.x, i);
          exact[0].add(a * element(products.y, i));
          exact[1].add(a * a);
          exact[2].add(std::sqrt(a));
        }
        for (std::size_t i = 0; i < 3; ++i) {
          const Terms& terms = i == 0 ? products.terms : test::terms_called(factors.x);
          // Products and squares have blocks of 512 terms.
          const test::SumLimits of_squares = {test::kProductLimits.block, test::kSumLimits.relative};
          const test::SumLimits& limits = i == 0 ? test::kProductLimits : i == 1 ? of_squares : test::kSumLimits;
          const std::string wrong = test::check_sum(DType::kF32, element(found[i], 0), exact[i], terms, limits);
          CHECK_MESSAGE(wrong == "", device, " ", factors.x, " and ", factors.y, ", output ", i, ": ", wrong);
        }
      }
    }
  }
}

/// Each window of one that has all of x[1, c, h, w]: weights[o, c, h, w].
TEST_CASE("long convolutions are near the exact ones" * test::Sliced()) {
  const Extents x_extents[] = {{1, 11'112, 3, 3}, {1, 3, 183, 183}};
  for (const Extents& extents : x_extents) {
    GraphBuilder builder("convolution");
    const Tensor x = builder.input("x", DType::kF32, {1, extents[1], extents[2] + 1, extents[3]});
    const Tensor w = builder.input("w", DType::kF32, {3, extents[1], extents[2], extents[3]});
    builder.output("y", conv2d(x, w));
    const Graph graph = builder.finish().value();
    for (const std::string& device : cpu_levels()) {
      const Program program = compile_on(device, graph);
      for (const Factors& factors : kFactors) {
        const Products products(factors, {1, extents[1], extents[2] + 1, extents[3]},
                                {3, extents[1], extents[2], extents[3]});
        const Inputs found = run_once(program, std::array{products.x, products.y});
        for (std::int64_t at = 0; at < 6; ++at) {  // filter and row
          const std::string wrong = products.check(element(found[0], at), products.exact_convolution(at));
          CHECK_MESSAGE(wrong == "", device, " ", factors.x, " times ", factors.y, ": ", wrong);
        }
      }
    }
  }
}

TEST_CASE("pools of large windows are near the exact means" * test::Sliced()) {
  constexpr std::int64_t kSize = 330;
  GraphBuilder builder("pools");
  const Tensor x = builder.input("x", DType::kF32, {1, 2, kSize, kSize});
  builder.output("windows", avg_pool2d(x, {.window = {kSize - 1, kSize}, .strides = {1, 1}}));
  builder.output("global", global_avg_pool(x));
  const Graph graph = builder.finish().value();
  for (const std::string& device : cpu_levels()) {
    const Program program = compile_on(device, graph);
    for (const Terms& terms : test::all_terms()) {
      const reference::Tensor values = test::make_terms(terms, DType::kF32, {1, 2, kSize, kSize});
      const Inputs found = run_once(program, std::span(&values, 1));
      for (std::int64_t channel = 0; channel < 2; ++channel) {
        const std::int64_t first = channel * kSize * kSize;
        const auto check = [&](std::int64_t begin, std::int64_t rows, long double result) {
          ExactSum exact;
          for (std::int64_t i = 0; i < rows * kSize; ++i) exact.add(element(values, begin + i));
          const std::string wrong = test::check_sum(DType::kF32, result, exact, terms, test::kSumLimits,
                                                    1.0L / static_cast<long double>(exact.count));
          CHECK_MESSAGE(wrong == "", device, ": ", wrong);
        };
        check(first, kSize, element(found[1], channel));
        REQUIRE(found[0].num_elements() == 4);
        for (std::int64_t row = 0; row < 2; ++row) {
          check(first + row * kSize, kSize - 1, element(found[0], 2 * channel + row));
        }
      }
    }
  }
}

/// `found` is `expected` within the limit of a sum of positive terms, and a rounding or two.
void check_near(const std::string& what, long double found, long double expected) {
  CHECK_MESSAGE(std::fabs(found - expected) <= 5e-6L * std::fabs(expected), what, ": found ",
                static_cast<double>(found), ", expected ", static_cast<double>(expected));
}

TEST_CASE("softmax and norms of rows of a million are near the exact ones" * test::Sliced()) {
  constexpr std::int64_t kCount = 1'000'000, kRows = 3;
  GraphBuilder builder("rows");
  const Tensor x = builder.input("x", DType::kF32, {Dim("rows"), Dim("n").at_least(1)});
  const Tensor one = builder.fill(DType::kF32, {1}, 1), zero = builder.fill(DType::kF32, {1}, 0);
  builder.output("softmax", softmax(x));
  builder.output("log_softmax", log_softmax(x));
  builder.output("logsumexp", logsumexp(x, {1}));
  builder.output("rms_norm", rms_norm(x, one));
  builder.output("l2_normalize", l2_normalize(x));
  builder.output("layer_norm", layer_norm(x, one, zero));
  const Graph graph = builder.finish().value();
  // A row of equal elements, one of two values, and one of random ones.
  reference::Tensor rows(DType::kF32, {kRows, kCount});
  std::mt19937_64 random(5);
  for (std::int64_t i = 0; i < kCount; ++i) {
    reference::write_element(DType::kF32, 1.7, rows.element(i));
    reference::write_element(DType::kF32, i % 2 == 0 ? 3.1 : -2.3, rows.element(kCount + i));
    const double draw = static_cast<double>(random() >> 11) * 0x1p-53;
    reference::write_element(DType::kF32, 4 * draw + 1, rows.element(2 * kCount + i));
  }
  for (const std::string& device : cpu_levels()) {
    const Inputs found = run_once(compile_on(device, graph), std::span(&rows, 1));
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::string where = fmt::format("{} row {}", device, row);
      long double exponentials = 0, squares = 0, mean = 0, variance = 0;
      for (std::int64_t i = row * kCount; i < (row + 1) * kCount; ++i) {
        const long double value = element(rows, i);
        exponentials += std::exp(value);
        squares += value * value;
        mean += value / kCount;
      }
      for (std::int64_t i = row * kCount; i < (row + 1) * kCount; ++i) {
        variance += (element(rows, i) - mean) * (element(rows, i) - mean) / kCount;
      }
      check_near(where + " logsumexp", element(found[2], row), std::log(exponentials));
      for (std::int64_t i = row * kCount; i < (row + 1) * kCount; i += 997) {
        const long double value = element(rows, i);
        check_near(where + " softmax", element(found[0], i), std::exp(value) / exponentials);
        check_near(where + " log_softmax", element(found[1], i), value - std::log(exponentials));
        check_near(where + " rms_norm", element(found[3], i), value / std::sqrt(squares / kCount + 1e-5L));
        check_near(where + " l2_normalize", element(found[4], i), value / std::sqrt(squares));
        const long double normal = (value - mean) / std::sqrt(variance + 1e-5L);
        const long double centred = element(found[5], i);
        CHECK_MESSAGE(std::fabs(centred - normal) <= 5e-6L * std::max(1.0L, std::fabs(normal)), where, " layer_norm");
      }
    }
  }
}

}  // namespace
}  // namespace millrace
