// SPDX-License-Identifier: Apache-2.0
// A remainder is exact: every bit equals std::fmod's, with mul_add fused and unfused.
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "millrace/ops/bodies.h"
#include "tests/ops/lane_builder.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

namespace {

template <class T>
struct Pairs {
  std::vector<T> x, y;
  void add(T a, T b) {
    x.push_back(a);
    y.push_back(b);
  }
};

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
void add_random(Pairs<T>& pairs) {
  std::mt19937_64 random(23);
  const auto any = [&] { return std::bit_cast<T>(static_cast<BitsOf<T>>(random())); };
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 100000; ++i) {
    pairs.add(any(), any());  // any ratio; some infinities and NaN
    pairs.add(static_cast<T>(1e3 * unit(random)), static_cast<T>(unit(random)));
    // On and around a multiple of y, where the quotient is hardest to tell.
    const T y = any();
    const T near = y * static_cast<T>(random() >> (random() % 64));
    for (const T x : {near, std::nextafter(near, T{0}), std::nextafter(near, 2 * near)}) pairs.add(x, y);
    // A divisor with all bits set, and one with few.
    const BitsOf<T> fraction = (BitsOf<T>{1} << (std::numeric_limits<T>::digits - 1)) - 1;
    pairs.add(any(), std::bit_cast<T>(std::bit_cast<BitsOf<T>>(any()) | fraction));
    pairs.add(any(), std::bit_cast<T>(std::bit_cast<BitsOf<T>>(any()) & ~fraction));
    pairs.add(any(), std::bit_cast<T>(static_cast<BitsOf<T>>(random()) & fraction));  // subnormal
  }
}

/// Every exponent's difference.
template <class T>
void add_ratios(Pairs<T>& pairs) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(24);
  std::uniform_real_distribution<double> unit(1, 2);
  for (int high = Limits::max_exponent - 1, low = high; low >= Limits::min_exponent - Limits::digits; --low) {
    for (int i = 0; i < 30; ++i) {
      pairs.add(static_cast<T>(std::ldexp(unit(random), high)), static_cast<T>(std::ldexp(unit(random), low)));
      pairs.add(Limits::max(), static_cast<T>(std::ldexp(unit(random), low)));
    }
  }
}

template <class T>
void add_special(Pairs<T>& pairs) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       1,
                       T(1.5),
                       3,
                       T(1e9),
                       Limits::max(),
                       Limits::min(),
                       std::nextafter(Limits::min(), T{0}),
                       Limits::denorm_min(),
                       3 * Limits::denorm_min(),
                       1 - Limits::epsilon(),
                       1 + Limits::epsilon(),
                       Limits::infinity(),
                       Limits::quiet_NaN()};
  for (const T a : special) {
    for (const T b : special) {
      for (const T x : {a, -a}) {
        for (const T y : {b, -b}) pairs.add(x, y);
      }
    }
  }
}

template <class T>
Lanes lanes(const std::vector<T>& values, std::size_t start, std::size_t count) {
  std::vector<std::uint64_t> bits;
  for (std::size_t i = start; i < start + count; ++i) bits.push_back(Scalar::of(values[i]).bits);
  return {dtype_of<T>, std::make_shared<std::vector<std::uint64_t>>(std::move(bits))};
}

/// NaN is any NaN.
template <class T>
bool is_same(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<BitsOf<T>>(a) == std::bit_cast<BitsOf<T>>(b);
}

template <bool kFused, class T>
void check_pairs(const Pairs<T>& pairs) {
  constexpr std::size_t kChunk = 1024;
  for (std::size_t start = 0; start < pairs.x.size(); start += kChunk) {
    const std::size_t count = std::min(kChunk, pairs.x.size() - start);
    LaneBuilder<kFused> b(count);
    const Lanes found = math::rem(b, lanes(pairs.x, start, count), lanes(pairs.y, start, count));
    for (std::size_t i = 0; i < count; ++i) {
      const T x = pairs.x[start + i], y = pairs.y[start + i], expected = std::fmod(x, y);
      const T value = Scalar{dtype_of<T>, (*found.bits)[i]}.template as<T>();
      if (is_same(value, expected)) continue;
      CAPTURE(kFused);
      CAPTURE(x);
      CAPTURE(y);
      CAPTURE(expected);
      CAPTURE(value);
      REQUIRE(is_same(value, expected));
    }
  }
}

template <class T>
void check_rem() {
  Pairs<T> pairs;
  add_random(pairs);
  add_ratios(pairs);
  add_special(pairs);
  CHECK(pairs.x.size() > 500000);
  check_pairs<true>(pairs);
  check_pairs<false>(pairs);
}

}  // namespace

TEST_CASE("the remainder of f32 equals fmod in every bit, for every ratio") { check_rem<float>(); }
TEST_CASE("the remainder of f64 equals fmod in every bit, for every ratio" * test::Sliced()) { check_rem<double>(); }
