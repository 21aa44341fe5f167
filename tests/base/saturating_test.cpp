// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/saturating.h"

#include <doctest/doctest.h>

namespace millrace::saturating {

TEST_CASE("arithmetic inside int64 is exact") {
  CHECK(add(kMax - 5, 4) == kMax - 1);
  CHECK(subtract(3, 5) == -2);
  CHECK(multiply(-3, 5) == -15);
  CHECK(floor_divide(7, 2) == 3);
  CHECK(floor_divide(-7, 2) == -4);
  CHECK(floor_divide(-8, 2) == -4);
}

TEST_CASE("a value that leaves int64 stops at the end on its side") {
  CHECK(add(kMax - 1, 2) == kMax);
  CHECK(add(kMin + 1, -2) == kMin);
  CHECK(multiply(kMax / 2, 3) == kMax);
  CHECK(multiply(kMax / 2, -3) == kMin);
  CHECK(multiply(kMin / 2, -3) == kMax);
}

TEST_CASE("a lost value never comes back as a number") {
  CHECK(add(kMax, -10) == kMax);
  CHECK(add(10, kMin) == kMin);
  CHECK(subtract(kMax, kMax) == kMax);
  CHECK(multiply(kMax, -1) == kMin);
  CHECK(negate(kMin) == kMax);
  CHECK(floor_divide(kMax, 2) == kMax);
  CHECK(multiply(kMax, 0) == 0);
}

}  // namespace millrace::saturating
