// SPDX-License-Identifier: Apache-2.0
// Inverse trigonometry and hyperbolic functions against <cmath> in long double, in ulp.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/graph/composites/composed.h"

namespace millrace {
namespace {

using test::Composed;
using Values = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Values apply(Tensor (*function)(Tensor), const Values& x, DType dtype) {
  return Composed().with("x", {static_cast<std::int64_t>(x.size())}, x, dtype).run([&](Composed& c) {
    return function(c["x"]);
  });
}

/// Both signs of numbers from 2^-40 to 2^`high`, several for each exponent.
Values spread(int high) {
  Values x;
  for (double exponent = -40; exponent <= high; exponent += 0.03125) {
    x.push_back(std::exp2(exponent));
    x.push_back(-x.back());
  }
  return x;
}

/// Numbers around `centre`, ever nearer to it, from 2^-2 on.
void add_around(Values& x, double centre) {
  for (int exponent = 2; exponent < 50; ++exponent) {
    for (const double step : {1.0, 1.25, 1.625}) {
      x.push_back(centre + step * std::exp2(-exponent));
      x.push_back(centre - step * std::exp2(-exponent));
    }
  }
}

template <class T>
long double worst_ulp(Tensor (*function)(Tensor), long double (*reference)(long double), Values x) {
  for (double& value : x) value = double{static_cast<T>(value)};
  const Values y = apply(function, x, dtype_of<T>);
  long double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(x[i]);
    const long double expected = reference(x[i]);
    const auto rounded = static_cast<T>(expected);
    if (std::isnan(rounded) || std::isinf(rounded)) {
      CHECK(std::isnan(y[i]) == std::isnan(rounded));
      if (std::isinf(rounded)) CHECK(y[i] == double{rounded});
      continue;
    }
    const int exponent = std::max(rounded == 0 ? std::numeric_limits<T>::min_exponent : std::ilogb(rounded) + 1,
                                  std::numeric_limits<T>::min_exponent);
    const long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
    worst = std::max(worst, std::fabs(y[i] - expected) / ulp);
  }
  return worst;
}

void check(Tensor (*function)(Tensor), long double (*reference)(long double), const Values& x, double max_ulp) {
  CHECK(worst_ulp<float>(function, reference, x) <= max_ulp);
  CHECK(worst_ulp<double>(function, reference, x) <= max_ulp);
}

TEST_CASE("asin, acos and atan are within 4 ulp") {
  Values x = spread(2);
  add_around(x, 1);
  add_around(x, -1);
  add_around(x, 0.5);
  check(asin, std::asin, x, 4);
  check(acos, std::acos, x, 4);
  check(atan, std::atan, spread(100), 4);
}

TEST_CASE("sinh and cosh are within 5 ulp, up to where they overflow") {
  Values x = spread(6);
  for (double value = 80; value < 90; value += 0.0625) x.push_back(value);
  add_around(x, 22);
  check(sinh, std::sinh, x, 5);
  check(cosh, std::cosh, x, 5);
  const Values large = {709, 710, 710.25, -710.25};  // 710.25: e^x overflows in f64
  CHECK(worst_ulp<double>(sinh, std::sinh, large) <= 5);
  CHECK(worst_ulp<double>(cosh, std::cosh, large) <= 5);
}

TEST_CASE("asinh, acosh and atanh are within 5 ulp") {
  Values x = spread(100);
  add_around(x, 1);
  add_around(x, -1);
  add_around(x, 0x1p28);
  check(asinh, std::asinh, x, 5);
  check(acosh, std::acosh, x, 5);
  check(atanh, std::atanh, x, 5);
}

TEST_CASE("inverse and hyperbolic functions keep -0, infinities and NaN") {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    for (Tensor (*function)(Tensor) : {asin, atan, sinh, asinh, atanh}) {
      const Values y = apply(function, {-0.0, 0.0, std::nan("")}, dtype);
      CHECK(y[0] == 0);
      CHECK(std::signbit(y[0]));
      CHECK(!std::signbit(y[1]));
      CHECK(std::isnan(y[2]));
    }
    CHECK(apply(sinh, {kInf, -kInf}, dtype) == Values{kInf, -kInf});
    CHECK(apply(cosh, {kInf, -kInf, 0}, dtype) == Values{kInf, kInf, 1});
    CHECK(apply(asinh, {kInf, -kInf}, dtype) == Values{kInf, -kInf});
    CHECK(apply(acosh, {kInf, 1}, dtype) == Values{kInf, 0});
    CHECK(apply(atanh, {1, -1}, dtype) == Values{kInf, -kInf});
    CHECK(apply(acos, {1}, dtype) == Values{0});
    for (const double value : apply(acosh, {-kInf, -1e4, -1, 0.5, std::nan("")}, dtype)) CHECK(std::isnan(value));
    for (const double value : apply(atanh, {-kInf, kInf, 1e4, -1.5, 2}, dtype)) CHECK(std::isnan(value));
    for (const double value : apply(asin, {-kInf, kInf, 1e4, -1.5, 2}, dtype)) CHECK(std::isnan(value));
    for (const double value : apply(acos, {-kInf, kInf, 1e4, -1.5, 2}, dtype)) CHECK(std::isnan(value));
  }
}

}  // namespace
}  // namespace millrace
