// SPDX-License-Identifier: Apache-2.0
#include "hal/host/routines/scan/nested_sum.h"

#include <limits>

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a nested sum of ones goes beyond 2^24 in f32") {
  NestedSum<float> sum(0, 128);
  for (std::int64_t i = 1; i <= 40'000'000; ++i) {
    sum.add(1);
    if (i % 999'983 == 0) CHECK(sum.total() == static_cast<float>(i));
  }
  CHECK(sum.total() == 40'000'000);
}

TEST_CASE("a nested sum carries each level before it overflows, and begins at its start value") {
  for (const std::int64_t per_level : {2, 3, 128}) {
    NestedSum<double> sum(1000, per_level);
    CHECK(sum.total() == 1000);
    double expected = 1000;
    for (int i = 1; i <= 20'000; ++i) {
      sum.add(i);
      expected += i;
      CHECK(sum.total() == expected);
    }
  }
}

TEST_CASE("a nested sum keeps infinities and NaNs") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  NestedSum<float> sum(0, 4);
  const auto add_some = [&] {
    for (int i = 0; i < 100; ++i) sum.add(1);
  };
  sum.add(kInf);
  add_some();
  CHECK(sum.total() == kInf);
  sum.add(-kInf);
  CHECK(sum.total() != sum.total());
  add_some();
  CHECK(sum.total() != sum.total());
}

}  // namespace
}  // namespace millrace
