// SPDX-License-Identifier: Apache-2.0
// Sorts, selections and scans on simulated GPUs: dtypes, sizes, axes, strides, options and used results, in a table
// that contains every pair of choices.
#include <algorithm>

#include <doctest/doctest.h>

#include "tests/reference/evaluate.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/ops/op_samples.h"
#include "tests/support/ops/pairwise.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

namespace {

/// The ops with their options, for rows of n elements along the axis.
std::vector<std::pair<Op, Attributes>> every_option(std::int64_t n, std::int64_t axis) {
  std::vector<std::pair<Op, Attributes>> all;
  for (const bool one : {false, true}) {
    all.emplace_back(Op::sort, SortAttrs{.axis = axis, .descending = one});
    for (const bool other : {false, true}) {
      for (const std::int64_t k : {9L, 600L}) {
        all.emplace_back(Op::topk, TopKAttrs{.k = std::min(k, n), .axis = axis, .largest = one, .sorted = other});
      }
      for (const Op op : {Op::cumulative_sum, Op::cumulative_prod, Op::cumulative_max, Op::cumulative_min}) {
        all.emplace_back(op, ScanAttrs{.axis = axis, .exclusive = one, .reverse = other});
      }
    }
  }
  return all;
}

const OpCase& row_of(Op op) { return *std::ranges::find(op_cases(), op, &OpCase::op); }

constexpr const char* kTargets[] = {"sim:gfx1100", "sim:gfx90a"};
constexpr std::int64_t kSizes[] = {1, 33, 257, 1000, 5000};
constexpr std::size_t kNumAxes = 3, kNumStrides = 3, kNumUsed = 3;

}  // namespace

TEST_CASE("every pair of dtype, size, axis, strides, option and used results gives the oracle's order on a GPU" *
          test::Sliced()) {
  const std::size_t counts[] = {every_option(1, 0).size(),
                                std::size(op_case_dtypes::kOrdered),
                                std::size(kSizes),
                                kNumAxes,
                                kNumStrides,
                                kNumUsed,
                                std::size(kTargets)};
  const std::vector<std::vector<std::size_t>> rows = pairwise_rows(counts);
  DriverTally tally;
  for (std::size_t number = 0; number < rows.size(); ++number) {
    const std::vector<std::size_t>& choice = rows[number];
    const std::size_t axis = choice[3];
    reference::Extents extents = {3, 2};
    extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(axis), kSizes[choice[2]]);
    const auto [op, attributes] = every_option(kSizes[choice[2]], static_cast<std::int64_t>(axis))[choice[0]];
    const OpCase& row = row_of(op);
    const DType dtype = row.dtypes[choice[1] % row.dtypes.size()];
    std::mt19937_64 random(number);
    const std::vector<reference::Tensor> operands = sample_operands(row, {{extents}, attributes}, dtype, random);
    OpTrial trial = {op, attributes, operands, row.max_ulp, {}, ""};
    trial.options.run.target = TargetSpec::parse(kTargets[choice[6]]).value();
    trial.options.strides = static_cast<Strides>(choice[4]);
    trial.options.used_results = (info(op).num_results == 2) ? static_cast<std::uint32_t>(choice[5] + 1) : 1;
    trial.label = std::string(to_text(op)) + " " + operands[0].type.to_text() + " " + to_text(attributes) +
                  " used results " + std::to_string(trial.options.used_results);
    run_trial(trial, reference::evaluate(op, attributes, operands), tally);
  }
  for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
  CHECK(tally.ran == static_cast<std::int64_t>(rows.size()));
}

TEST_CASE("a table of pairs contains every pair of choices") {
  const std::size_t counts[] = {5, 3, 1, 4, 2};
  const std::vector<std::vector<std::size_t>> rows = pairwise_rows(counts);
  CHECK(rows.size() >= 20);
  CHECK(rows.size() < 30);
  for (std::size_t a = 0; a < std::size(counts); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      for (std::size_t i = 0; i < counts[a] * counts[b]; ++i) {
        CHECK(std::ranges::any_of(rows, [&](const auto& row) { return row[a] * counts[b] + row[b] == i; }));
      }
    }
  }
}
