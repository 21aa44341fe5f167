// SPDX-License-Identifier: Apache-2.0
// Sort and topk of rows that are hard for what is chosen for them, in every dtype, at sizes around the thresholds of
// the code: registers, partitions, blocks.
#include <random>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/reference/evaluate.h"
#include "tests/support/hard_rows.h"
#include "tests/support/op_driver.h"

using namespace millrace;
using namespace millrace::test;
using reference::Tensor;

namespace {

constexpr std::uint32_t kAllUses[] = {1, 2, 3};

/// `uses` are sets of used results.
void check(Op op, const Attributes& attributes, const Tensor& row, std::string_view name, DriverTally& tally,
           std::span<const std::uint32_t> uses = kAllUses) {
  const std::vector<Tensor> expected = reference::evaluate(op, attributes, {&row, 1});
  for (const TargetSpec& target : host_targets()) {
    if (target.isa == IsaLevel::kBaseline) continue;
    for (const std::uint32_t used : uses) {
      OpTrial trial = {op, attributes, {&row, 1}, 0, {}, ""};
      trial.options.run.target = target;
      trial.options.used_results = used;
      trial.label =
          fmt::format("{} {} {} {} used results {}", to_text(op), name, row.type.to_text(), to_text(attributes), used);
      run_trial(trial, expected, tally);
    }
  }
}

void check_none(const DriverTally& tally) {
  CHECK(tally.ran > 0);
  for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
  CHECK(fmt::format("{}", fmt::join(refusals(tally), "\n")) == "");
}

}  // namespace

TEST_CASE("topk of hard rows equals the oracle around blocks and chunks") {
  std::mt19937_64 random(41);
  DriverTally tally;
  std::size_t turn = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const std::int64_t n : {1024, 1151, 4097, 16384, 32767, 32769, 100'003}) {
        // Each row has some k, so that all meet all.
        constexpr std::int64_t kFew[] = {1, 7, 50, 128};
        const std::int64_t k = turn % 5 == 4 ? std::min<std::int64_t>(1024, n / 8) : kFew[turn % 5 % 4];
        const Tensor row = make_hard_rows(hard, dtype, {n}, 0, k, random);
        check(Op::topk, TopKAttrs{.k = k, .largest = turn / 5 % 2 == 0, .sorted = true}, row, hard.name, tally);
        ++turn;
      }
    }
  }
  check_none(tally);
}

TEST_CASE("topk of many short hard rows equals the oracle") {
  std::mt19937_64 random(44);
  DriverTally tally;
  std::size_t turn = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const std::int64_t n : {48, 63, 64, 65, 127, 255, 256, 257, 1000, 2047, 2048, 2049}) {
        constexpr std::int64_t kFew[] = {1, 2, 5, 8, 16, 17, 31, 32};
        if (++turn % 5 != 0) continue;
        const std::int64_t k = std::min(kFew[turn / 5 % std::size(kFew)], n / 4);
        const Tensor rows = make_hard_rows(hard, dtype, {37, n}, 1, k, random);
        check(Op::topk, TopKAttrs{.k = k, .largest = turn / 5 % 2 == 0}, rows, hard.name, tally);
      }
    }
  }
  check_none(tally);
}

TEST_CASE("sorts of long narrow rows equal the oracle around the length from which elements are counted") {
  std::mt19937_64 random(43);
  DriverTally tally;
  std::size_t turn = 0;
  for (const DType dtype : kAllDTypes) {
    if (size_bytes(dtype) > 2) continue;
    const std::int64_t fewest = std::int64_t{2} << (8 * size_bytes(dtype));
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const std::int64_t n : {fewest - 1, fewest, fewest + 5}) {
        const Tensor row = make_hard_rows(hard, dtype, {n}, 0, n, random);
        check(Op::sort, SortAttrs{.axis = 0, .descending = turn++ % 2 == 0}, row, hard.name, tally);
        check(Op::topk, TopKAttrs{.k = n - n / 3, .largest = turn % 2 == 0}, row, hard.name, tally);
      }
    }
  }
  check_none(tally);
}

TEST_CASE("sorts of hard rows equal the oracle around registers and partitions") {
  std::mt19937_64 random(42);
  DriverTally tally;
  std::size_t turn = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      for (const std::int64_t n : {1, 2, 15, 17, 31, 64, 65, 127, 129, 255, 257, 513, 5000}) {
        const Tensor row = make_hard_rows(hard, dtype, {n}, 0, n, random);
        check(Op::sort, SortAttrs{.axis = 0, .descending = turn++ % 2 == 0}, row, hard.name, tally);
        if (n > 1) check(Op::topk, TopKAttrs{.k = n - 1, .largest = turn % 2 == 0}, row, hard.name, tally);
      }
    }
  }
  check_none(tally);
}

TEST_CASE("sorts of long hard rows equal the oracle around chunks") {
  std::mt19937_64 random(45);
  DriverTally tally;
  std::size_t turn = 0;
  for (const DType dtype : kAllDTypes) {
    for (const HardRow& hard : hard_rows(dtype)) {
      constexpr std::int64_t kSizes[] = {262'143, 262'144, 5 * 61'440, 5 * 61'440 + 1, 400'001};
      const std::int64_t n = kSizes[turn % 5];
      const std::span<const std::uint32_t> uses = std::span(kAllUses).subspan(turn % 3, 1);
      const Tensor row = make_hard_rows(hard, dtype, {n}, 0, n, random);
      if (++turn % 3 > 0) {
        check(Op::sort, SortAttrs{.axis = 0, .descending = turn % 2 == 0}, row, hard.name, tally, uses);
      } else {
        const std::int64_t k = turn % 2 == 0 ? n - 1 : n / 5;
        check(Op::topk, TopKAttrs{.k = k, .largest = turn % 4 > 1}, row, hard.name, tally, uses);
      }
    }
  }
  check_none(tally);
}

TEST_CASE("sorts of several long rows along any axis equal the oracle") {
  std::mt19937_64 random(46);
  DriverTally tally;
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kF64, DType::kBF16}) {
    for (const HardRow& hard : hard_rows(dtype)) {
      if (hard.name != "random" && hard.name != "NaN in half" && hard.name != "Zipf") continue;
      const Tensor rows = make_hard_rows(hard, dtype, {3, 270'000}, 1, 270'000, random);
      check(Op::sort, SortAttrs{.axis = 1, .descending = true}, rows, hard.name, tally);
      const Tensor columns = make_hard_rows(hard, dtype, {262'144, 2}, 0, 262'144, random);
      check(Op::sort, SortAttrs{.axis = 0}, columns, hard.name, tally);
    }
  }
  check_none(tally);
}
