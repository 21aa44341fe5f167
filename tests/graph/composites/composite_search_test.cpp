// SPDX-License-Identifier: Apache-2.0
// Slices backwards, pools of ceil mode, scatter_nd, searchsorted and cumulative_argmax, against plain loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "tests/graph/composites/composed.h"

namespace millrace {
namespace {

using test::Composed;
using Values = std::vector<double>;

const double kNan = std::numeric_limits<double>::quiet_NaN();

Values counting(std::size_t count) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
  return values;
}

TEST_CASE("a slice counts from the end, and goes backwards, as in NumPy") {
  for (std::int64_t start = -6; start < 6; ++start) {
    for (std::int64_t stop = -7; stop <= 6; ++stop) {
      for (const std::int64_t step : {-7, -3, -2, -1, 1, 2, 5}) {
        const std::int64_t from = start < 0 ? start + 6 : start, to = stop < 0 ? stop + 6 : stop;
        if (step > 0 ? to < from || to < 0 : to > from) continue;  // refused, where NumPy gives nothing
        Values expected;
        for (std::int64_t i = from; step > 0 ? i < to : i > to; i += step) expected.push_back(static_cast<double>(i));
        CAPTURE(start);
        CAPTURE(stop);
        CAPTURE(step);
        CHECK(Composed().with("x", {6}, counting(6)).run([&](Composed& c) {
          return slice(c["x"], {start}, {stop}, {step});
        }) == expected);
      }
    }
  }
}

TEST_CASE("a symbolic extent is sliced from its end, and backwards") {
  const Dim n("n");
  const auto run = [&](const SizeExpr& start, const SizeExpr& stop, std::int64_t step) {
    return Composed().with("x", {5}, counting(5), DType::kF32, {n}).run([&](Composed& c) {
      return slice(c["x"], {start}, {stop}, {step});
    });
  };
  CHECK(run(-2, n, 1) == Values{3, 4});
  CHECK(run(-1, -1 - SizeExpr(n), -1) == Values{4, 3, 2, 1, 0});
  CHECK(run(-1, 0, -2) == Values{4, 2});
}

// The schedule must see that no read begins before the sums do, at 4 * (n - 1 - 2 * floor_div(n - 1, 2)).
TEST_CASE("a kernel's result is sliced backwards, whatever its extent") {
  const Dim n = Dim("n").at_least(1);
  CHECK(Composed().with("x", {5}, counting(5), DType::kF32, {n}).run([&](Composed& c) {
    return slice(cumulative_sum(c["x"]), {-1}, {-1 - SizeExpr(n)}, {-2});
  }) == Values{10, 3, 0});
}

/// PyTorch's rule: as many windows as fit, rounded up, except one that would begin behind x and the padding before it.
std::int64_t num_rounded_up(std::int64_t n, std::int64_t low, std::int64_t high, std::int64_t window,
                            std::int64_t stride) {
  std::int64_t count = 1;
  for (std::int64_t rest = n + low + high - window; rest > 0; rest -= stride) ++count;
  return (count - 1) * stride >= n + low ? count - 1 : count;
}

TEST_CASE("pools of ceil mode have a window for the remainder") {
  for (const auto& [n, low, high, window, stride] : std::vector<std::array<std::int64_t, 5>>{{10, 0, 0, 3, 2},
                                                                                             {10, 0, 0, 5, 2},
                                                                                             {10, 1, 1, 3, 3},
                                                                                             {7, 0, 0, 2, 2},
                                                                                             {6, 0, 0, 2, 2},
                                                                                             {5, 0, 1, 2, 4},
                                                                                             {9, 2, 0, 3, 5},
                                                                                             {4, 0, 0, 4, 3}}) {
    CAPTURE(n);
    CAPTURE(window);
    CAPTURE(stride);
    Values maxima, means, padded_means;
    for (std::int64_t i = 0; i < num_rounded_up(n, low, high, window, stride); ++i) {
      double greatest = -1, sum = 0, count = 0, padded_count = 0;
      for (std::int64_t k = i * stride - low; k < i * stride - low + window; ++k) {
        if (k < n + high) ++padded_count;  // positions after the padding do not count
        if (k < 0 || k >= n) continue;
        greatest = std::max(greatest, static_cast<double>(k));
        sum += static_cast<double>(k);
        ++count;
      }
      maxima.push_back(greatest);
      means.push_back(sum / count);
      padded_means.push_back(sum / padded_count);
    }
    Pool1dAttributes attributes{
        .window = window, .stride = stride, .padding_low = low, .padding_high = high, .ceil_mode = true};
    for (const Shape& shape : {Shape{1, 1, n}, Shape{1, 1, Dim("n").at_least(1)}}) {
      const auto run = [&](Tensor (*pool)(Tensor, Pool1dAttributes)) {
        Composed composed;
        composed.with("x", {1, 1, n}, counting(static_cast<std::size_t>(n)), DType::kF32, shape);
        return composed.run([&](Composed& c) { return pool(c["x"], attributes); });
      };
      const auto check_means = [&](bool count_include_pad, const Values& expected) {
        attributes.count_include_pad = count_include_pad;
        const Values found = run(avg_pool1d);
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]));
      };
      CHECK(run(max_pool1d) == maxima);
      check_means(false, means);
      check_means(true, padded_means);
    }
  }
}

// The first is the example of ONNX' AveragePool ("averagepool_2d_ceil").
TEST_CASE("pools of two dims have ceil mode, too, and sizes that a run binds") {
  Values from_1 = counting(16);
  for (double& value : from_1) ++value;
  CHECK(Composed().with("x", {1, 1, 4, 4}, from_1).run([](Composed& c) {
    return avg_pool2d(c["x"], {.window = {3, 3}, .ceil_mode = true});
  }) == Values{6, 7.5, 12, 13.5});
  const SizeExpr h = Dim("h").at_least(1), w = Dim("w").at_least(1);
  CHECK(Composed().with("x", {1, 1, 3, 3}, counting(9), DType::kF32, {1, 1, h, w}).run([](Composed& c) {
    return max_pool2d(c["x"], {.ceil_mode = true});
  }) == Values{4, 5, 7, 8});
}

TEST_CASE("scatter_nd puts elements and rows where the indices say; for equal indices, the last one wins") {
  const Values x = counting(12), updates = {100, 101, 102, 103};
  Values elements = x;
  const std::int64_t places[4][2] = {{0, 1}, {2, -1}, {0, 1}, {-3, 3}};
  for (int i = 0; i < 4; ++i) {
    const std::int64_t row = places[i][0] < 0 ? places[i][0] + 3 : places[i][0];
    const std::int64_t column = places[i][1] < 0 ? places[i][1] + 4 : places[i][1];
    elements[static_cast<std::size_t>(row * 4 + column)] = updates[static_cast<std::size_t>(i)];
  }
  CHECK(Composed()
            .with("x", {3, 4}, x)
            .with("i", {4, 2}, {0, 1, 2, -1, 0, 1, -3, 3}, DType::kI64)
            .with("u", {4}, updates)
            .run([](Composed& c) { return scatter_nd(c["x"], c["i"], c["u"]); }) == elements);
  CHECK(Composed()
            .with("x", {3, 2}, counting(6))
            .with("i", {2, 1}, {2, 0}, DType::kI32)
            .with("u", {2, 2}, updates)
            .run([](Composed& c) { return scatter_nd(c["x"], c["i"], c["u"]); }) == Values{102, 103, 2, 3, 100, 101});
}

TEST_CASE("an index of scatter_nd beyond its own axis is an error, even inside the whole") {
  CHECK(Composed()
            .with("x", {3, 4}, counting(12))
            .with("i", {1, 2}, {0, 4}, DType::kI64)
            .with("u", {1}, {1})
            .failure([](Composed& c) { return scatter_nd(c["x"], c["i"], c["u"]); })
            .find("index") != std::string::npos);
}

/// NaN is greatest, as sort has it.
bool comes_before(double a, double b) { return std::isnan(a) ? false : std::isnan(b) || a < b; }

TEST_CASE("searchsorted counts the elements before each value, with equals or without, and NaN last") {
  const Values rows = {-3, -1, -1, 2, kNan, 0, 0, 0, 0, 0};
  const Values wanted = {-4, -1, 2, kNan, 0, 5, -0.0, kNan};
  for (const bool right : {false, true}) {
    Values expected;
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t i = 0; i < 4; ++i) {
        double count = 0;
        for (std::size_t k = 0; k < 5; ++k) {
          const double element = rows[row * 5 + k], value = wanted[row * 4 + i];
          count += (right ? !comes_before(value, element) : comes_before(element, value)) ? 1 : 0;
        }
        expected.push_back(count);
      }
    }
    CHECK(Composed().with("s", {2, 5}, rows).with("v", {2, 4}, wanted).run([&](Composed& c) {
      return searchsorted(c["s"], c["v"], right);
    }) == expected);
  }
  CHECK(Composed().with("s", {3}, {1, 2, 2}, DType::kU8).with("v", {2}, {2, 255}, DType::kU8).run([](Composed& c) {
    return searchsorted(c["s"], c["v"]);
  }) == Values{1, 3});
}

/// A sorted row of few values, and so with many duplicates; NaN at its end.
Values sorted_row(std::size_t n, std::mt19937_64& random) {
  Values row(n);
  for (double& value : row) value = random() % 50 == 0 ? kNan : static_cast<double>(random() % 100) / 4 - 10;
  std::ranges::sort(row, comes_before);
  return row;
}

TEST_CASE("searchsorted finds what std::lower_bound and std::upper_bound find, in rows of any length") {
  std::mt19937_64 random(5);
  const Dim n("n");
  for (const std::size_t size : {0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 200, 1000}) {
    for (const bool right : {false, true}) {
      constexpr std::size_t kRows = 3, kValues = 37;
      Values rows, wanted, expected;
      for (std::size_t row = 0; row < kRows; ++row) {
        const Values sorted = sorted_row(size, random);
        rows.insert(rows.end(), sorted.begin(), sorted.end());
        for (std::size_t i = 0; i < kValues; ++i) {
          const double value = i == 0 ? kNan : static_cast<double>(random() % 120) / 4 - 12;
          const auto place = right ? std::upper_bound(sorted.begin(), sorted.end(), value, comes_before)
                                   : std::lower_bound(sorted.begin(), sorted.end(), value, comes_before);
          wanted.push_back(value);
          expected.push_back(static_cast<double>(place - sorted.begin()));
        }
      }
      CAPTURE(size);
      CAPTURE(right);
      const auto extent = static_cast<std::int64_t>(size);
      for (const bool is_bound_by_run : {false, true}) {
        for (const DType dtype : {DType::kF32, DType::kF16}) {
          const SizeExpr length = is_bound_by_run ? SizeExpr(n) : SizeExpr(extent);
          CHECK(Composed()
                    .with("s", {kRows, extent}, rows, dtype, {kRows, length})
                    .with("v", {kRows, kValues}, wanted, dtype)
                    .run([&](Composed& c) { return searchsorted(c["s"], c["v"], right); }) == expected);
        }
      }
    }
  }
}

TEST_CASE("cumulative_argmax is the index of the first maximum so far, along any axis") {
  const double inf = std::numeric_limits<double>::infinity();
  const Values x = {-inf, -inf, 3, 3, kNan, 5, 2, 4, 4, 1, kNan, kNan};
  Values along_rows, along_columns(12);
  for (std::size_t row = 0; row < 2; ++row) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      if (comes_before(x[row * 6 + best], x[row * 6 + i])) best = i;
      along_rows.push_back(static_cast<double>(best));
    }
  }
  for (std::size_t column = 0; column < 6; ++column) {
    along_columns[6 + column] = comes_before(x[column], x[6 + column]) ? 1 : 0;
  }
  const auto run = [&](std::int64_t axis) {
    return Composed().with("x", {2, 6}, x).run([&](Composed& c) { return cumulative_argmax(c["x"], axis); });
  };
  CHECK(run(-1) == along_rows);
  CHECK(run(0) == along_columns);
  CHECK(Composed().with("x", {4}, {0, 7, 7, 200}, DType::kU8).run([](Composed& c) {
    return cumulative_argmax(c["x"]);
  }) == Values{0, 1, 1, 3});
}

}  // namespace
}  // namespace millrace
