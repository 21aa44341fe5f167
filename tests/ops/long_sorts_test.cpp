// SPDX-License-Identifier: Apache-2.0
// Sorts of rows that several kernels share, hard ones among them, at sizes around those of chunks.
#include <random>

#include <doctest/doctest.h>

#include "tests/ops/check_order.h"
#include "tests/support/ops/hard_rows.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;
using reference::Tensor;

TEST_CASE("sorts of long hard rows equal the oracle around chunks" * test::Sliced()) {
  std::mt19937_64 random(45);
  DriverTally tally;
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      constexpr std::int64_t kSizes[] = {262'143, 262'144, 4 * 98'304, 4 * 98'304 + 1, 400'001};
      const std::int64_t n = kSizes[iteration % 5];
      const std::span<const std::uint32_t> uses = std::span(kAllUses).subspan(iteration % 3, 1);
      const Tensor row = make_hard_rows(hard, dtype, {n}, 0, n, random);
      if (++iteration % 3 > 0) {
        check_order(Op::sort, SortAttrs{.axis = 0, .descending = iteration % 2 == 0}, row, hard.name, tally,
                    {.uses = uses});
      } else {
        const std::int64_t k = iteration % 2 == 0 ? n - 1 : n / 5;
        check_order(Op::topk, TopKAttrs{.k = k, .largest = iteration % 4 > 1}, row, hard.name, tally, {.uses = uses});
      }
    }
  }
  check_all_passed(tally);
}

TEST_CASE("a topk of many elements of long hard rows equals the oracle" * test::Sliced()) {
  std::mt19937_64 random(47);
  DriverTally tally;
  std::size_t iteration = 0;
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kF64, DType::kBF16, DType::kU8}) {
    for (const HardRow& hard : hard_rows(dtype)) {
      // Around the maximum k of a limit by groups, one after another with all else equal: their code differs.
      constexpr std::int64_t kCounts[] = {1024, 1025, 3125};
      const std::int64_t n = 200'000 + static_cast<std::int64_t>(iteration), k = kCounts[iteration % 3];
      const std::span<const std::uint32_t> uses = std::span(kAllUses).subspan(iteration / 3 % 3, 1);
      const Tensor row = make_hard_rows(hard, dtype, {n}, 0, k, random);
      check_order(Op::topk, TopKAttrs{.k = k, .largest = iteration++ / 3 % 2 == 0}, row, hard.name, tally,
                  {.uses = uses});
    }
  }
  check_all_passed(tally);
}

TEST_CASE("sorts of several long rows along any axis equal the oracle" * test::Sliced()) {
  std::mt19937_64 random(46);
  DriverTally tally;
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kF64, DType::kBF16, DType::kU16, DType::kI8}) {
    for (const HardRow& hard : hard_rows(dtype)) {
      if (hard.name != "random" && hard.name != "NaN in half" && hard.name != "Zipf") continue;
      const Tensor rows = make_hard_rows(hard, dtype, {3, 270'000}, 1, 270'000, random);
      check_order(Op::sort, SortAttrs{.axis = 1, .descending = true}, rows, hard.name, tally);
      const Tensor columns = make_hard_rows(hard, dtype, {262'144, 2}, 0, 262'144, random);
      check_order(Op::sort, SortAttrs{.axis = 0}, columns, hard.name, tally);
    }
  }
  check_all_passed(tally);
}
