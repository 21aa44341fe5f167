// SPDX-License-Identifier: Apache-2.0
// Measures the elementary functions against long double std:: ones, with mul_add fused and unfused.
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include <doctest/doctest.h>

#include "millrace/base/check.h"
#include "millrace/ops/bodies.h"
#include "tests/ops/lane_builder.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Around and between all powers of two, subnormals too; infinities, NaN and both zeros; and `dense` points spread
/// evenly over [low, high], where a function is not trivial.
template <class T>
std::vector<T> sweep(double low, double high, std::size_t dense) {
  constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  constexpr int kExponents = sizeof(T) == 4 ? 256 : 2048;
  constexpr int kPerBinade = sizeof(T) == 4 ? 1500 : 90;
  constexpr int kNear = 24;
  std::mt19937_64 random(20);
  std::vector<T> points;
  for (const BitsOf<T> sign : {0, 1}) {
    for (BitsOf<T> exponent = 0; exponent < kExponents; ++exponent) {
      const BitsOf<T> base = (sign << (sizeof(T) * 8 - 1)) | (exponent << kFraction);
      const auto add = [&](BitsOf<T> fraction) { points.push_back(std::bit_cast<T>(base | fraction)); };
      const BitsOf<T> last = (BitsOf<T>{1} << kFraction) - 1;
      for (int i = 0; i < kNear; ++i) add(i);
      for (int i = 0; i < kNear; ++i) add(last - i);
      for (int i = 0; i < kPerBinade; ++i) add(random() & last);
    }
  }
  for (std::size_t i = 0; i < dense; ++i) {
    points.push_back(static_cast<T>(low + (high - low) * static_cast<double>(i) / static_cast<double>(dense)));
  }
  return points;
}

template <class T>
long double ulp_error(T found, long double expected) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(found) || std::isnan(expected)) return std::isnan(found) && std::isnan(expected) ? 0 : INFINITY;
  if (static_cast<T>(expected) == found) {
    // -0 and +0 are told apart.
    if (found == 0) return std::signbit(found) == std::signbit(expected) ? 0 : INFINITY;
    if (std::isinf(found)) return 0;
  }
  // Overflow counts as the next power of two.
  const long double value = std::isinf(found) ? std::copysign(std::ldexp(1.0L, Limits::max_exponent), found) : found;
  const int exponent = expected == 0 ? Limits::min_exponent - 1 : std::ilogb(expected);
  const int clamped = std::min(std::max(exponent, Limits::min_exponent - 1), Limits::max_exponent - 1);
  return std::fabs(value - expected) / std::ldexp(1.0L, clamped - (Limits::digits - 1));
}

struct Worst {
  long double ulp = 0;
  long double x = 0, y = 0, found = 0, expected = 0;
};

template <class T>
Lanes make_lanes(const T* first, std::size_t count) {
  std::vector<std::uint64_t> bits;
  for (std::size_t i = 0; i < count; ++i) bits.push_back(Scalar::of(first[i]).bits);
  return {dtype_of<T>, std::make_shared<std::vector<std::uint64_t>>(std::move(bits))};
}

/// `emit(builder, x, y)`; unary functions ignore y.
template <bool kFused, class T, class F>
Worst measure(const std::vector<T>& x, const std::vector<T>& y, const std::vector<long double>& expected, F&& emit) {
  constexpr std::size_t kChunk = 1024;
  Worst worst;
  for (std::size_t start = 0; start < x.size(); start += kChunk) {
    const std::size_t count = std::min(kChunk, x.size() - start);
    LaneBuilder<kFused> builder(count);
    const Lanes found = emit(builder, make_lanes(&x[start], count), make_lanes(&y[start], count));
    for (std::size_t i = 0; i < count; ++i) {
      const T value = Scalar{dtype_of<T>, (*found.bits)[i]}.template as<T>();
      const long double ulp = ulp_error(value, expected[start + i]);
      if (ulp > worst.ulp) worst = {ulp, x[start + i], y[start + i], value, expected[start + i]};
    }
  }
  return worst;
}

template <class T, class F>
void check_bound(const std::vector<T>& x, const std::vector<T>& y, long double (*reference)(long double, long double),
                 double max_ulp, F&& emit) {
  std::vector<long double> expected;
  for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(reference(x[i], y[i]));
  const Worst fused = measure<true>(x, y, expected, emit), unfused = measure<false>(x, y, expected, emit);
  for (const Worst& worst : {fused, unfused}) {
    CAPTURE(dtype_of<T> == DType::kF64);
    CAPTURE(worst.x);
    CAPTURE(worst.y);
    CAPTURE(worst.found);
    CAPTURE(worst.expected);
    CAPTURE(worst.ulp);
    CHECK(worst.ulp <= max_ulp);
  }
  MESSAGE("worst ulp: ", static_cast<double>(fused.ulp), " fused, ", static_cast<double>(unfused.ulp), " unfused");
}

struct Range {
  double low, high;  // where the function is not trivial
};

template <class F>
void check_unary(Range f32, Range f64, double max_ulp, long double (*reference)(long double, long double), F&& emit) {
  const std::vector<float> x32 = sweep<float>(f32.low, f32.high, 300000);
  check_bound<float>(x32, x32, reference, max_ulp, emit);
  const std::vector<double> x64 = sweep<double>(f64.low, f64.high, 300000);
  check_bound<double>(x64, x64, reference, max_ulp, emit);
}

}  // namespace

TEST_CASE("exp is within 1 ulp" * test::Sliced()) {
  check_unary(
      {-105, 90}, {-747, 711}, 1, [](long double x, long double) { return std::exp(x); },
      [](auto& b, auto x, auto) { return math::exp(b, x); });
}

TEST_CASE("exp2 is within 2 ulp" * test::Sliced()) {
  check_unary(
      {-151, 129}, {-1077, 1025}, 2, [](long double x, long double) { return std::exp2(x); },
      [](auto& b, auto x, auto) { return math::exp2(b, x); });
}

TEST_CASE("log is within 1 ulp" * test::Sliced()) {
  check_unary(
      {0, 3}, {0, 3}, 1, [](long double x, long double) { return std::log(x); },
      [](auto& b, auto x, auto) { return math::log(b, x); });
}

TEST_CASE("log2 is within 2 ulp" * test::Sliced()) {
  check_unary(
      {0, 3}, {0, 3}, 2, [](long double x, long double) { return std::log2(x); },
      [](auto& b, auto x, auto) { return math::log2(b, x); });
}

TEST_CASE("tanh is within 2 ulp" * test::Sliced()) {
  check_unary(
      {-10, 10}, {-20, 20}, 2, [](long double x, long double) { return std::tanh(x); },
      [](auto& b, auto x, auto) { return math::tanh(b, x); });
}

TEST_CASE("erf is within 2 ulp" * test::Sliced()) {
  check_unary(
      {-4.1, 4.1}, {-6.1, 6.1}, 2, [](long double x, long double) { return std::erf(x); },
      [](auto& b, auto x, auto) { return math::erf(b, x); });
}

TEST_CASE("sigmoid is within 3 ulp" * test::Sliced()) {
  check_unary(
      {-105, 20}, {-747, 40}, 3,
      [](long double x, long double) {
        const long double e = std::exp(-std::fabs(x));
        return x < 0 ? e / (1 + e) : 1 / (1 + e);
      },
      [](auto& b, auto x, auto) { return math::sigmoid(b, x); });
}

TEST_CASE("softplus is within 2 ulp" * test::Sliced()) {
  check_unary(
      {-105, 20}, {-747, 40}, 2,
      [](long double x, long double) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); },
      [](auto& b, auto x, auto) { return math::softplus(b, x); });
}

TEST_CASE("expm1 is within 2 ulp" * test::Sliced()) {
  check_unary(
      {-25, 90}, {-45, 711}, 2, [](long double x, long double) { return std::expm1(x); },
      [](auto& b, auto x, auto) { return math::expm1(b, x); });
}

TEST_CASE("log1p is within 2 ulp" * test::Sliced()) {
  check_unary(
      {-1, 3}, {-1, 3}, 2, [](long double x, long double) { return std::log1p(x); },
      [](auto& b, auto x, auto) { return math::log1p(b, x); });
}

namespace {

enum class AngleFunction { kSin, kCos, kTan };

template <class T>
void check_angles(long double (*function)(long double), AngleFunction which) {
  std::vector<T> x = sweep<T>(-1e5, 1e5, 300000);
  // Nearest to the zeros of sine and cosine, where the reduction is all: small ones, and those of f32 around 2^20,
  // where the reduction changes.
  for (int n = 1; n < 690'000; n += n == 200'000 ? 450'000 : 1) {
    const T zero = static_cast<T>(n * std::numbers::pi_v<long double> / 2);
    for (const T point : {zero, std::nextafter(zero, T{0}), std::nextafter(zero, T{2} * zero)}) x.push_back(point);
  }
  static long double (*reference)(long double);
  reference = function;
  check_bound<T>(
      x, x, [](long double angle, long double) { return reference(angle); },
      which == AngleFunction::kTan && sizeof(T) == 8 ? 3 : 1,
      [&](auto& b, auto angle, auto) {
        if (which == AngleFunction::kTan) return math::tan(b, angle);
        return which == AngleFunction::kSin ? math::sin(b, angle) : math::cos(b, angle);
      });
}

}  // namespace

TEST_CASE("sin and cos are within 1 ulp" * test::Sliced()) {
  const auto sine = [](long double x) { return std::sin(x); };
  const auto cosine = [](long double x) { return std::cos(x); };
  check_angles<float>(sine, AngleFunction::kSin);
  check_angles<float>(cosine, AngleFunction::kCos);
  check_angles<double>(sine, AngleFunction::kSin);
  check_angles<double>(cosine, AngleFunction::kCos);
}

TEST_CASE("tan is within 3 ulp" * test::Sliced()) {
  const auto tangent = [](long double x) { return std::tan(x); };
  check_angles<float>(tangent, AngleFunction::kTan);
  check_angles<double>(tangent, AngleFunction::kTan);
}

TEST_CASE("sin, cos and tan of the f64 that are nearest to multiples of pi / 2 are within their bounds") {
  // Found among all f64 by the continued fractions of 2^e * 2 / pi.
  const double nearest[] = {0x1.6ac5b262ca1ffp+849, 0x1.6ac5b262ca1ffp+850, 0x1.504cac51f1eafp+131,
                            0x1.6ac5b262ca1ffp+851, 0x1.e009c53148be1p+991, 0x1.4c96c11134d36p+577,
                            0x1.cfe482285f8edp+860, 0x1.db41f3cb71d7bp+680, 0x1.e7e44a78ac18cp+197,
                            0x1.c45cd11154dfdp+295, 0x1.504cac51f1eafp+132};
  std::vector<double> x;
  for (const double point : nearest) {
    for (const double angle : {point, std::nextafter(point, 0), std::nextafter(point, 2 * point)}) {
      x.insert(x.end(), {angle, -angle});
    }
  }
  // On both sides of where the reduction changes.
  for (double angle = 0x1p27 - 64; angle < 0x1p27 + 64; angle += 0x1p-3) x.insert(x.end(), {angle, -angle});
  check_bound<double>(
      x, x, [](long double angle, long double) { return std::sin(angle); }, 1,
      [](auto& b, auto angle, auto) { return math::sin(b, angle); });
  check_bound<double>(
      x, x, [](long double angle, long double) { return std::cos(angle); }, 1,
      [](auto& b, auto angle, auto) { return math::cos(b, angle); });
  check_bound<double>(
      x, x, [](long double angle, long double) { return std::tan(angle); }, 2,
      [](auto& b, auto angle, auto) { return math::tan(b, angle); });
}

namespace {

template <class T>
void check_pow() {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> unit(0, 1);
  const double exponents = sizeof(T) == 4 ? 150 : 1075;
  std::vector<T> x, y;
  const auto add = [&](double a, double b) {
    x.push_back(static_cast<T>(a));
    y.push_back(static_cast<T>(b));
  };
  for (int i = 0; i < 400000; ++i) {
    // Any base; a result anywhere in the range, overflow and underflow too.
    const double base = std::exp2((2 * unit(random) - 1) * exponents * 0.85);
    add(base, (2 * unit(random) - 1) * 1.1 * exponents / std::log2(base));
    // Bases near 1 and small exponents: where a logarithm loses most.
    const double near_one = 1 + (unit(random) - 0.5) * std::exp2(-40 * unit(random));
    add(near_one, (2 * unit(random) - 1) * exponents / std::log2(near_one));
    add(std::exp2(4 * unit(random) - 2), 8 * unit(random) - 4);
    // Negative bases with integer exponents.
    add(-std::exp2(8 * unit(random) - 4), std::nearbyint(60 * unit(random) - 30));
  }
  constexpr T kInf = std::numeric_limits<T>::infinity(), kNaN = std::numeric_limits<T>::quiet_NaN();
  const T special[] = {0,
                       T(0.5),
                       1,
                       T(1.5),
                       2,
                       3,
                       4,
                       7,
                       T(1e9),
                       std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::denorm_min(),
                       1 - std::numeric_limits<T>::epsilon(),
                       1 + std::numeric_limits<T>::epsilon(),
                       1 / std::numeric_limits<T>::epsilon() - 1,
                       2 / std::numeric_limits<T>::epsilon() + 2,
                       kInf,
                       kNaN};
  for (const T a : special) {
    for (const T b : special) {
      for (const int signs : {0, 1, 2, 3}) {
        x.push_back(std::copysign(a, (signs & 1) != 0 ? T(-1) : T(1)));
        y.push_back(std::copysign(b, (signs & 2) != 0 ? T(-1) : T(1)));
      }
    }
  }
  check_bound<T>(
      x, y, [](long double a, long double b) { return std::pow(a, b); }, 1,
      [](auto& b, auto base, auto exponent) { return math::pow(b, base, exponent); });
}

}  // namespace

namespace {

template <class T>
void check_atan2() {
  std::mt19937_64 random(22);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<T> y, x;
  const auto add = [&](double a, double b) {
    y.push_back(static_cast<T>(a));
    x.push_back(static_cast<T>(b));
  };
  const double exponents = sizeof(T) == 4 ? 149 : 1074;
  for (int i = 0; i < 400000; ++i) {
    add(unit(random), unit(random));
    const double scale = std::exp2(unit(random) * exponents);  // any magnitudes, and any ratio of them
    add(unit(random) * scale, unit(random) * std::exp2(unit(random) * exponents));
    add(unit(random) * scale, unit(random) * scale);
    const double near_one = 1 + unit(random) * std::exp2(-40 * std::fabs(unit(random)));
    add(near_one, std::copysign(1, unit(random)));
    add(0.41421356237309503 + unit(random) * 1e-6, 1);  // where the reduction changes
  }
  constexpr T kInf = std::numeric_limits<T>::infinity();
  const T special[] = {0,
                       1,
                       2,
                       std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::denorm_min(),
                       kInf,
                       std::numeric_limits<T>::quiet_NaN()};
  for (const T a : special) {
    for (const T b : special) {
      for (const T sign : {T{1}, T{-1}}) {
        add(a * sign, b);
        add(a * sign, -b);
      }
    }
  }
  check_bound<T>(
      y, x, [](long double a, long double b) { return std::atan2(a, b); }, sizeof(T) == 4 ? 1 : 3,
      [](auto& b, auto a, auto c) { return math::atan2(b, a, c); });
}

}  // namespace

TEST_CASE("atan2 is within 3 ulp" * test::Sliced()) {
  check_atan2<float>();
  check_atan2<double>();
}

TEST_CASE("pow is within 1 ulp, and C's pow on special values" * test::Sliced()) {
  check_pow<float>();
  check_pow<double>();
}
