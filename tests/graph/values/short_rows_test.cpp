// SPDX-License-Identifier: Apache-2.0
// Scans, sorts, TopK and argmax of rows and columns of up to 16 elements, whose lanes are neighbouring rows, against
// plain loops on every level of the host; and argmax of a few long columns.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "millrace/hal/target_spec.h"
#include "millrace/millrace.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

/// A matrix whose rows or columns are short: rows if the axis is 1.
struct Case {
  std::int64_t axis, n, num_rows;

  Extents extents() const { return axis == 1 ? Extents{num_rows, n} : Extents{n, num_rows}; }
  std::size_t size() const { return static_cast<std::size_t>(n * num_rows); }
  std::size_t place(std::int64_t row, std::int64_t i) const {
    return static_cast<std::size_t>(axis == 1 ? row * n + i : i * num_rows + row);
  }
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::int64_t axis : {0, 1}) {
    for (std::int64_t n = 1; n <= 16; ++n) {
      for (const std::int64_t num_rows : {1, 3, 37}) cases.push_back({axis, n, num_rows});
    }
  }
  return cases;
}

/// Few values, NaN, infinities and both zeros, so that many are equal.
std::vector<float> values_of(const Case& test) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kSpecial[] = {kNan, kInf, -kInf, 0.0f, -0.0f};
  std::mt19937 random(static_cast<unsigned>(test.n * 100 + test.num_rows));
  std::vector<float> values(test.size());
  for (float& value : values) {
    const auto draw = random();
    value = draw % 4 == 0 ? kSpecial[draw / 4 % 5] : static_cast<float>(draw / 4 % 9) - 4;
  }
  return values;
}

template <class Build>
void run_on(std::string_view level, const Case& test, const std::vector<float>& values, Build&& build,
            std::vector<TensorBinding> results) {
  GraphBuilder graph;
  const Extents extents = test.extents();
  const std::vector<Tensor> outputs = build(graph.input("x", DType::kF32, {extents[0], extents[1]}));
  for (std::size_t i = 0; i < outputs.size(); ++i) graph.output("y" + std::to_string(i), outputs[i]);
  const std::string device = "cpu:" + std::string(level);
  Session session = Session::create(compile(graph.finish().value(), {.device = device}).value()).value();
  const TensorBinding in[] = {bind(values)};
  REQUIRE(session.run(in, results).message() == "");
}

bool same_bits(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(float)) == 0; }

/// NaN wins, and -0 is below +0.
float minimum(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
float maximum(float a, float b) { return -minimum(-a, -b); }
float sum(float a, float b) { return a + b; }
float product(float a, float b) { return a * b; }

struct Scan {
  Tensor (*op)(Tensor, ScanAttrs);
  float (*combine)(float, float);
  float identity;
};

void check_scan(const Scan& scan, const Case& test, std::string_view level, bool exclusive, bool reverse) {
  const std::vector<float> x = values_of(test);
  std::vector<float> found(x.size()), expected(x.size());
  for (std::int64_t row = 0; row < test.num_rows; ++row) {
    float so_far = scan.identity;
    for (std::int64_t step = 0; step < test.n; ++step) {
      const std::size_t at = test.place(row, reverse ? test.n - 1 - step : step);
      const float next = scan.combine(so_far, x[at]);
      expected[at] = exclusive ? so_far : next;
      so_far = next;
    }
  }
  const auto build = [&](Tensor t) {
    return std::vector{scan.op(t, {.axis = test.axis, .exclusive = exclusive, .reverse = reverse})};
  };
  run_on(level, test, x, build, {bind(found)});
  CHECK(std::ranges::equal(found, expected, same_bits));
}

TEST_CASE("scans of short rows and columns combine element by element, in order" * test::Sliced()) {
  const float inf = std::numeric_limits<float>::infinity();
  const Scan scans[] = {{cumulative_sum, sum, 0},
                        {cumulative_prod, product, 1},
                        {cumulative_max, maximum, -inf},
                        {cumulative_min, minimum, inf}};
  for (const IsaLevel isa : host_isa_levels()) {
    for (const Case& test : all_cases()) {
      if (test.n > 15) continue;
      CAPTURE(to_text(isa));
      CAPTURE(test.axis);
      CAPTURE(test.n);
      CAPTURE(test.num_rows);
      // Each kind meets each way among the lengths.
      const auto way = static_cast<std::size_t>(test.n % 4);
      const std::size_t number = static_cast<std::size_t>(test.n / 4 + test.num_rows + test.axis) % std::size(scans);
      check_scan(scans[number], test, to_text(isa), (way & 1) != 0, (way & 2) != 0);
    }
  }
}

/// The positions of a row in the order of a sort.
std::vector<std::int64_t> order_of(const std::vector<float>& x, const Case& test, std::int64_t row, bool largest) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(test.n));
  std::iota(order.begin(), order.end(), 0);
  const auto comes_before = [](float a, float b) { return std::isnan(a) ? false : std::isnan(b) || a < b; };
  // The position decides last: clang 19 does not compile GCC 12's stable_sort.
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const float first = x[test.place(row, largest ? b : a)], second = x[test.place(row, largest ? a : b)];
    if (comes_before(first, second) || comes_before(second, first)) return comes_before(first, second);
    return a < b;
  });
  return order;
}

void check_topk(const Case& test, std::string_view level, std::int64_t k, bool largest) {
  const std::vector<float> x = values_of(test);
  const Case kept{test.axis, k, test.num_rows};
  std::vector<float> values(kept.size()), expected_values(kept.size());
  std::vector<std::int64_t> indices(kept.size()), expected_indices(kept.size());
  for (std::int64_t row = 0; row < test.num_rows; ++row) {
    const std::vector<std::int64_t> order = order_of(x, test, row, largest);
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t index = order[static_cast<std::size_t>(i)];
      expected_indices[kept.place(row, i)] = index;
      expected_values[kept.place(row, i)] = x[test.place(row, index)];
    }
  }
  const auto build = [&](Tensor t) {
    const auto [v, i] = topk(t, k, {.axis = test.axis, .largest = largest});
    return std::vector{v, i};
  };
  run_on(level, test, x, build, {bind(values), bind(indices)});
  CHECK(indices == expected_indices);
  CHECK(std::memcmp(values.data(), expected_values.data(), values.size() * sizeof(float)) == 0);
}

TEST_CASE("TopK of short rows and columns is the first k of a stable sort" * test::Sliced()) {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const Case& test : all_cases()) {
      CAPTURE(to_text(isa));
      CAPTURE(test.axis);
      CAPTURE(test.n);
      CAPTURE(test.num_rows);
      check_topk(test, to_text(isa), test.n, test.num_rows == 37);
      check_topk(test, to_text(isa), (test.n + 1) / 2, test.num_rows != 37);
    }
  }
}

TEST_CASE("argmax of short rows and columns is the first maximum, where NaN is the greatest" * test::Sliced()) {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const Case& test : all_cases()) {
      CAPTURE(to_text(isa));
      CAPTURE(test.axis);
      CAPTURE(test.n);
      CAPTURE(test.num_rows);
      const std::vector<float> x = values_of(test);
      std::vector<std::int64_t> found(static_cast<std::size_t>(test.num_rows)), expected;
      for (std::int64_t row = 0; row < test.num_rows; ++row) expected.push_back(order_of(x, test, row, true)[0]);
      run_on(to_text(isa), test, x, [&](Tensor t) { return std::vector{argmax(t, test.axis)}; }, {bind(found)});
      CHECK(found == expected);
    }
  }
}

/// Many columns are equal or hold a few values; some have a NaN or both zeros far down.
std::vector<float> values_of_columns(const Case& test) {
  std::mt19937 random(static_cast<unsigned>(test.n * 100 + test.num_rows));
  std::vector<float> values(test.size());
  for (std::int64_t row = 0; row < test.num_rows; ++row) {
    const auto distinct = 1 + random() % 3 * 100;
    for (std::int64_t i = 0; i < test.n; ++i) {
      values[test.place(row, i)] = static_cast<float>(random() % distinct) - static_cast<float>(distinct - 1);
    }
    const auto drawn_place = [&] { return test.place(row, static_cast<std::int64_t>(random()) % test.n); };
    const auto drawn = random() % 4;
    if (drawn > 1) values[drawn_place()] = -0.0f;
    if (drawn == 3) values[drawn_place()] = std::numeric_limits<float>::quiet_NaN();
  }
  return values;
}

TEST_CASE("argmax and argmin of a few long columns find the first extreme" * test::Sliced()) {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const std::int64_t n : {1023, 1024, 1500, 4097, 200'003}) {
      for (const std::int64_t columns : {2, 3, 5, 7, 8, 12, 16, 31, 32, 33}) {
        const Case test{0, n, columns};
        if (n > 10'000 && columns % 2 == 0) continue;
        CAPTURE(to_text(isa));
        CAPTURE(n);
        CAPTURE(columns);
        const std::vector<float> x = values_of_columns(test);
        for (const bool largest : {false, true}) {
          std::vector<std::int64_t> found(static_cast<std::size_t>(columns)), expected(found.size());
          for (std::int64_t row = 0; row < columns; ++row) {
            std::int64_t& best = expected[static_cast<std::size_t>(row)];
            for (std::int64_t i = 1; i < n; ++i) {
              const float now = x[test.place(row, i)], then = x[test.place(row, best)];
              const bool is_better = std::isnan(now) ? !std::isnan(then) : largest ? now > then : now < then;
              if (is_better) best = i;
            }
          }
          const auto build = [&](Tensor t) { return std::vector{largest ? argmax(t, 0) : argmin(t, 0)}; };
          run_on(to_text(isa), test, x, build, {bind(found)});
          CHECK(found == expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace
