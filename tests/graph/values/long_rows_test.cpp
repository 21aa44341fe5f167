// SPDX-License-Identifier: Apache-2.0
// One program whose runs bind rows on both sides of the length from which rows are cut into parts.
#include <algorithm>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/kernels/run_request.h"

namespace millrace {
namespace {

constexpr std::int64_t kRows = 2, kFirst = 20;

struct Results {
  explicit Results(std::int64_t n)
      : values(kRows * kFirst), indices(kRows * kFirst), best(kRows), sums(static_cast<std::size_t>(kRows * n)) {}
  std::vector<float> values;
  std::vector<std::int64_t> indices, best;
  std::vector<float> sums;
  friend bool operator==(const Results&, const Results&) = default;
};

/// Small integers, so that sums are exact, with ties among the greatest.
std::vector<float> make_rows(std::int64_t n) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n));
  std::vector<float> x(static_cast<std::size_t>(kRows * n));
  for (float& value : x) value = random() % 50'000 == 0 ? 7 : static_cast<float>(random() % 3) - 1;
  return x;
}

Results expected(const std::vector<float>& x, std::int64_t n) {
  Results results(n);
  for (std::int64_t row = 0; row < kRows; ++row) {
    const float* const elements = x.data() + row * n;
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::partial_sort(order.begin(), order.begin() + kFirst, order.end(), [&](std::int64_t a, std::int64_t b) {
      return elements[a] != elements[b] ? elements[a] > elements[b] : a < b;
    });
    for (std::int64_t i = 0; i < kFirst; ++i) {
      const auto to = static_cast<std::size_t>(row * kFirst + i);
      results.indices[to] = order[static_cast<std::size_t>(i)];
      results.values[to] = elements[results.indices[to]];
    }
    results.best[static_cast<std::size_t>(row)] = std::max_element(elements, elements + n) - elements;
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      results.sums[static_cast<std::size_t>(row * n + i)] = static_cast<float>(sum += elements[i]);
    }
  }
  return results;
}

TEST_CASE("one program takes rows of any length, cut into parts or not") {
  for (const TargetSpec& target : test::host_targets()) {
    if (target.isa == IsaLevel::kBaseline) continue;
    GraphBuilder graph("rows");
    const Tensor x = graph.input("x", DType::kF32, {kRows, Dim("n").at_least(kFirst)});
    const auto [values, indices] = topk(x, kFirst);
    graph.output("values", values);
    graph.output("indices", indices);
    graph.output("best", argmax(x, 1));
    graph.output("sums", cumulative_sum(x, {.axis = 1}));
    CompileOptions options;
    options.targets = {target.to_text()};
    Session session = Session::create(compile(graph.finish().value(), options).value()).value();
    for (const std::int64_t n : {20, 1000, (1 << 20) - 1, 1 << 20, (2 << 20) + 7, (4 << 20) + 12'345, 999}) {
      CAPTURE(n);
      const std::vector<float> rows = make_rows(n);
      Results found(n);
      const TensorBinding in[] = {bind(rows, {kRows, n})};
      const TensorBinding out[] = {bind(found.values), bind(found.indices), bind(found.best), bind(found.sums)};
      REQUIRE(session.run(in, out).message() == "");
      CHECK(found == expected(rows, n));
    }
  }
}

}  // namespace
}  // namespace millrace
