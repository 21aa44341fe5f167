// SPDX-License-Identifier: Apache-2.0
// Sort and topk of rows that are hard for the chosen algorithms, in every dtype, at sizes around the thresholds of the
// code: registers, partitions, blocks.
#include <array>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "hal/host/routines/sort/byte_counter.h"
#include "tests/ops/check_order.h"
#include "tests/support/ops/hard_rows.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;
using reference::Tensor;

TEST_CASE("topk of hard rows equals the oracle around blocks and chunks" * test::Sliced()) {
  std::mt19937_64 random(41);
  DriverTally tally;
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const std::int64_t n : {1024, 1151, 4097, 16384, 32767, 32769, 100'003}) {
        // Each row has some k, so that all meet all.
        constexpr std::int64_t kFew[] = {1, 7, 50, 128};
        const std::int64_t k = iteration % 5 == 4 ? std::min<std::int64_t>(1024, n / 8) : kFew[iteration % 5 % 4];
        const Tensor row = make_hard_rows(hard, dtype, {n}, 0, k, random);
        check_order(Op::topk, TopKAttrs{.k = k, .largest = iteration / 5 % 2 == 0, .sorted = true}, row, hard.name,
                    tally);
        ++iteration;
      }
    }
  }
  check_all_passed(tally);
}

/// Many first elements of sawtooths with many equals each: samples mislead, and elements are found column by column.
TEST_CASE("topk of sawtooths keeps equals in order" * test::Sliced()) {
  DriverTally tally;
  for (const auto& [n, k, first_period] : {std::array<std::int64_t, 3>{8400, 1000, 545},
                                           {20'000, 1024, 1250},
                                           {32'767, 1024, 2066},
                                           {32'767, 1024, 4090}}) {
    constexpr std::int64_t kNumRows = 8;
    Tensor rows(DType::kF32, {kNumRows, n});
    for (std::int64_t i = 0; i < kNumRows * n; ++i) {
      const auto x = static_cast<float>(-(i % n % (first_period + i / n)));
      std::memcpy(rows.element(i), &x, sizeof(x));
    }
    check_order(Op::topk, TopKAttrs{.k = k, .axis = 1}, rows, "sawtooth", tally);
  }
  check_all_passed(tally);
}

TEST_CASE("topk of many short hard rows equals the oracle" * test::Sliced()) {
  std::mt19937_64 random(44);
  DriverTally tally;
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const std::int64_t n : {48, 63, 64, 65, 127, 255, 256, 257, 1000, 2047, 2048, 2049}) {
        constexpr std::int64_t kFew[] = {1, 2, 5, 8, 16, 17, 31, 32};
        if (++iteration % 5 != 0) continue;
        const std::int64_t k = std::min(kFew[iteration / 5 % std::size(kFew)], n / 4);
        const Tensor rows = make_hard_rows(hard, dtype, {37, n}, 1, k, random);
        check_order(Op::topk, TopKAttrs{.k = k, .largest = iteration / 5 % 2 == 0}, rows, hard.name, tally);
      }
    }
  }
  check_all_passed(tally);
}

TEST_CASE("sorts of long narrow rows equal the oracle around the length from which elements are counted" *
          test::Sliced()) {
  std::mt19937_64 random(43);
  DriverTally tally;
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    if (size_bytes(dtype) > 2) continue;
    const std::int64_t min_length = std::int64_t{2} << (8 * size_bytes(dtype));
    const std::int64_t min_by_lanes = size_bytes(dtype) == 1 ? ByteCounter::kMinBytes : min_length;
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const std::int64_t n : {min_length - 1, min_length, min_by_lanes - 1, min_by_lanes + 5}) {
        const Tensor row = make_hard_rows(hard, dtype, {n}, 0, n, random);
        check_order(Op::sort, SortAttrs{.axis = 0, .descending = iteration++ % 2 == 0}, row, hard.name, tally);
        check_order(Op::topk, TopKAttrs{.k = n - n / 3, .largest = iteration % 2 == 0}, row, hard.name, tally);
      }
    }
  }
  check_all_passed(tally);
}

TEST_CASE("sorts of hard rows equal the oracle around registers and partitions" * test::Sliced()) {
  std::mt19937_64 random(42);
  DriverTally tally;
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const std::int64_t n : {1, 2, 15, 17, 31, 64, 65, 127, 129, 255, 257, 513, 5000}) {
        const Tensor row = make_hard_rows(hard, dtype, {n}, 0, n, random);
        check_order(Op::sort, SortAttrs{.axis = 0, .descending = iteration++ % 2 == 0}, row, hard.name, tally);
        if (n > 1) check_order(Op::topk, TopKAttrs{.k = n - 1, .largest = iteration % 2 == 0}, row, hard.name, tally);
      }
    }
  }
  check_all_passed(tally);
}

TEST_CASE("sorts and topk of hard rows along other axes equal the oracle, however groups are distributed" *
          test::Sliced()) {
  std::mt19937_64 random(45);
  DriverTally tally;
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const std::int64_t n : {1, 2, 16, 17, 60, 130, 1500}) {
        constexpr std::int64_t kColumns[] = {1, 2, 7, 8, 16, 17, 31, 64, 65};
        const std::int64_t columns = kColumns[iteration++ % std::size(kColumns)];
        const bool is_middle = iteration % 2 == 0, is_largest = iteration / 2 % 2 == 0;
        const reference::Extents extents =
            is_middle ? reference::Extents{2, n, columns} : reference::Extents{n, columns};
        const std::size_t axis = is_middle ? 1 : 0;
        const auto at = static_cast<std::int64_t>(axis);
        const Tensor rows = make_hard_rows(hard, dtype, extents, axis, n, random);
        const std::uint32_t max_groups = iteration % 3 == 0 ? 5 : iteration % 3 == 1 ? 16 : 0xffff'ffff;
        check_order(Op::sort, SortAttrs{.axis = at, .descending = is_largest}, rows, hard.name, tally, {max_groups});
        const std::int64_t k = std::min<std::int64_t>({n, 1 + static_cast<std::int64_t>(iteration % 40), n / 4 + 1});
        check_order(Op::topk, TopKAttrs{.k = k, .axis = at, .largest = is_largest}, rows, hard.name, tally,
                    {max_groups});
      }
    }
  }
  check_all_passed(tally);
}

TEST_CASE("topk of long hard rows along another axis equals the oracle" * test::Sliced()) {
  std::mt19937_64 random(46);
  DriverTally tally;
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      // Rows of 2049 elements and more are not short; of the longest, one has room at a time.
      const std::int64_t n =
          std::int64_t{iteration % 7 == 0 ? 200'000 : 10'000} / static_cast<std::int64_t>(size_bytes(dtype));
      const Tensor rows = make_hard_rows(hard, dtype, {n, 3}, 0, 20, random);
      check_order(Op::topk, TopKAttrs{.k = 20, .axis = 0, .largest = iteration++ % 2 == 0}, rows, hard.name, tally);
    }
  }
  check_all_passed(tally);
}

TEST_CASE("orders of narrow elements equal the oracle around the longest rows with short indices" * test::Sliced()) {
  std::mt19937_64 random(47);
  DriverTally tally;
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    if (size_bytes(dtype) > 2) continue;
    for (const HardRow& hard : hard_rows(dtype)) {
      const std::int64_t n = std::int64_t{65'535} + static_cast<std::int64_t>(iteration++ % 3);
      const Tensor row = make_hard_rows(hard, dtype, {n}, 0, n, random);
      check_order(Op::sort, SortAttrs{.axis = 0, .descending = iteration / 3 % 2 == 0}, row, hard.name, tally);
      check_order(Op::topk, TopKAttrs{.k = n - n / 3, .largest = iteration / 3 % 2 == 0}, row, hard.name, tally);
    }
  }
  check_all_passed(tally);
}
