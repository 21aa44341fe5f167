// SPDX-License-Identifier: Apache-2.0
// Rows around the lengths from which several threads can share one: TopK, argmax and scans in parts; and scans of many
// columns. How parts work, on short rows: row_parts_test.cpp.
#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/reference/evaluate.h"
#include "tests/support/ops/hard_rows.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;
using reference::Extents;
using reference::Tensor;

namespace {

constexpr std::int64_t kLongForArgmax = 1 << 20, kLongForScan = 4 << 20;

/// Parts are the longer, the more results there are.
constexpr std::int64_t long_for_topk(std::int64_t k) { return 2 * std::max<std::int64_t>(1 << 20, k * (16 << 10)); }

std::vector<TargetSpec> lane_targets() {
  std::vector<TargetSpec> targets = host_targets();
  std::erase_if(targets, [](const TargetSpec& target) { return target.isa == IsaLevel::kBaseline; });
  return targets;
}

/// The choices of one iteration of a test; together the iterations try all combinations.
struct Iteration {
  std::size_t number = 0;

  OpRunOptions options(std::uint32_t used_results) const {
    OpRunOptions options;
    const std::vector<TargetSpec> targets = lane_targets();
    options.run.target = targets[number % targets.size()];
    if (number % 3 == 0) options.run.max_groups_per_call = 1;
    options.strides = number % 4 == 0 ? Strides::kPadded : Strides::kDense;
    options.guard = number % 2 == 0 ? GuardedBuffer::Guard::kAfter : GuardedBuffer::Guard::kBefore;
    options.used_results = used_results;
    return options;
  }
};

/// The first k of each row: a partial sort of numbers that hold every element, a NaN as the greatest one.
std::vector<Tensor> first_of_rows(const Tensor& rows, std::int64_t k, bool largest) {
  struct Keyed {
    bool is_nan;
    long double number;
    std::int64_t index;
  };
  const auto before = [&](const Keyed& a, const Keyed& b) {
    if (a.is_nan != b.is_nan) return a.is_nan == largest;
    if (!a.is_nan && a.number != b.number) return (a.number < b.number) != largest;
    return a.index < b.index;
  };
  const std::int64_t num_rows = rows.extents()[0], n = rows.extents()[1];
  std::vector<Tensor> first = {Tensor(rows.type.dtype, {num_rows, k}), Tensor(DType::kI64, {num_rows, k})};
  std::vector<Keyed> keyed(static_cast<std::size_t>(n));
  for (std::int64_t row = 0; row < num_rows; ++row) {
    reference::visit_wide(rows.type.dtype, [&]<class W>() {
      for (std::int64_t i = 0; i < n; ++i) {
        const W number = reference::read_element<W>(rows.type.dtype, rows.element(row * n + i));
        keyed[static_cast<std::size_t>(i)] = {reference::is_nan(number), static_cast<long double>(number), i};
      }
    });
    std::partial_sort(keyed.begin(), keyed.begin() + k, keyed.end(), before);
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t index = keyed[static_cast<std::size_t>(i)].index;
      std::memcpy(first[0].element(row * k + i), rows.element(row * n + index), size_bytes(rows.type.dtype));
      std::memcpy(first[1].element(row * k + i), &index, sizeof(index));
    }
  }
  return first;
}

void check(Op op, const Attributes& attributes, const Tensor& rows, const std::vector<Tensor>& expected,
           const OpRunOptions& options, std::string_view algorithm) {
  CAPTURE(to_text(op));
  CAPTURE(rows.type.to_text());
  CAPTURE(to_text(attributes));
  CAPTURE(options.run.target.to_text());
  const Result<OpRun> run = run_op(op, attributes, {&rows, 1}, options);
  REQUIRE(run.status().message() == "");
  CHECK(run->reports[0].algorithm == algorithm);
  std::vector<Tensor> wanted;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if ((options.used_results >> i & 1) != 0) wanted.push_back(expected[i]);
  }
  REQUIRE(run->results.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(run->results[i].bytes == wanted[i].bytes);
}

}  // namespace

TEST_CASE("topk of long rows equals a partial sort, in every dtype" * test::Sliced()) {
  std::mt19937_64 random(61);
  Iteration iteration;
  for (const DType dtype : kAllDTypes) {
    const std::vector<HardRow> hard = hard_rows(dtype);
    for (int i = 0; i < 2; ++i, ++iteration.number) {
      constexpr std::int64_t kFew[] = {1, 100, 64, 33}, kBeyond[] = {0, -1, 1, 1'234'567};
      const std::int64_t k = kFew[iteration.number / 4 % 4], n = long_for_topk(k) + kBeyond[iteration.number % 4];
      const bool largest = iteration.number % 2 == 0;
      const Tensor row = make_hard_rows(hard[7 * iteration.number % hard.size()], dtype, {1, n}, 1, k, random);
      check(Op::topk, TopKAttrs{.k = k, .axis = 1, .largest = largest}, row, first_of_rows(row, k, largest),
            iteration.options(1 + iteration.number % 3), n < long_for_topk(k) ? "lane_sort" : "lane_topk_parts");
    }
  }
}

TEST_CASE("topk of several long rows finds results that are all in one part, and results in every part" *
          test::Sliced()) {
  constexpr std::int64_t k = 50, n = (3 << 20) + 99;
  Iteration iteration;
  Tensor rows(DType::kF32, {3, n});
  const auto at = [&](std::int64_t row, std::int64_t i) -> float& {
    return *reinterpret_cast<float*>(rows.element(row * n + i));
  };
  for (std::int64_t i = 0; i < n; ++i) {
    at(0, i) = i >= n - 700 && i % 7 == 0 ? 5.0f + static_cast<float>(i % 50) : static_cast<float>(i % 5);
    at(1, i) = i % 65'536 == 9 ? std::numeric_limits<float>::quiet_NaN() : -0.0f;
    at(2, i) = i % 2 == 0 ? 0.0f : -0.0f;
  }
  for (const bool largest : {false, true}) {
    const std::vector<Tensor> expected = first_of_rows(rows, k, largest);
    for (const std::uint32_t used : {1u, 2u, 3u}) {
      for (++iteration.number; iteration.number % 4 != 0; ++iteration.number) {
        check(Op::topk, TopKAttrs{.k = k, .axis = 1, .largest = largest}, rows, expected, iteration.options(used),
              "lane_topk_parts");
      }
    }
  }
}

TEST_CASE("argmax and argmin of long rows find the first extreme" * test::Sliced()) {
  std::mt19937_64 random(62);
  Iteration iteration;
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::kBool) continue;
    for (const HardRow& hard : hard_rows(dtype)) {
      constexpr std::int64_t kLengths[] = {kLongForArgmax - 1, kLongForArgmax, kLongForArgmax + 300'001};
      if (++iteration.number % 8 != 0) continue;
      const std::int64_t n = kLengths[iteration.number / 8 % 3];
      const Tensor rows = make_hard_rows(hard, dtype, {n == kLengths[2] ? 2 : 1, n}, 1, 1, random);
      for (const Op op : {Op::argmax, Op::argmin}) {
        const Attributes attributes = ArgAttrs{.axis = 1};
        Iteration other = {iteration.number / 8};
        check(op, attributes, rows, reference::evaluate(op, attributes, {&rows, 1}), other.options(1),
              n < kLongForArgmax ? "loop_direct" : "lane_arg_parts");
      }
    }
  }
}

TEST_CASE("scans of long rows equal plain code" * test::Sliced()) {
  std::mt19937_64 random(63);
  Iteration iteration;
  const auto check_scan = [&](Op op, DType dtype, std::int64_t n, const ScanAttrs& attributes) {
    Tensor row(dtype, {1, n});
    for (std::int64_t i = 0; i < n; ++i) {
      // Sums of floats are exact.
      const std::uint64_t bits = random() | (op == Op::cumulative_prod ? 1 : 0);
      if (is_float(dtype) && op == Op::cumulative_sum) {
        reference::write_element(dtype, static_cast<double>(bits % 3) - 1, row.element(i));
      } else {
        std::memcpy(row.element(i), &bits, size_bytes(dtype));
      }
    }
    ++iteration.number;
    check(op, attributes, row, reference::evaluate(op, attributes, {&row, 1}), iteration.options(1),
          n < kLongForScan ? "lane_scan" : "lane_scan_parts");
  };
  check_scan(Op::cumulative_sum, DType::kF32, kLongForScan - 1, {.axis = 1});
  check_scan(Op::cumulative_sum, DType::kF32, kLongForScan, {.axis = 1, .reverse = true});
  check_scan(Op::cumulative_sum, DType::kF64, kLongForScan + 1, {.axis = 1, .exclusive = true});
  check_scan(Op::cumulative_max, DType::kU8, kLongForScan + 77'777, {.axis = 1, .exclusive = true, .reverse = true});
  check_scan(Op::cumulative_prod, DType::kI64, kLongForScan, {.axis = 1, .exclusive = true});
}

TEST_CASE("sums of long rows are as accurate as in any order, and the same for any number of concurrent groups" *
          test::Sliced()) {
  std::mt19937_64 random(64);
  Tensor row(DType::kF32, {1, kLongForScan + 1000});
  for (std::int64_t i = 0; i < row.num_elements(); ++i) {
    reference::write_element(DType::kF32, static_cast<double>(random() % 2001) / 1000 - 1, row.element(i));
  }
  const OpTrial trial = {Op::cumulative_sum, ScanAttrs{.axis = 1}, {&row, 1}, 0, {}, ""};
  const std::vector<Tensor> expected = reference::evaluate(trial.op, trial.attributes, trial.operands);
  for (const TargetSpec& target : lane_targets()) {
    OpRunOptions options;
    options.run.target = target;
    const Result<OpRun> whole = run_op(trial.op, trial.attributes, trial.operands, options);
    options.run.max_groups_per_call = 1;
    const Result<OpRun> apart = run_op(trial.op, trial.attributes, trial.operands, options);
    REQUIRE((whole.ok() && apart.ok()));
    CHECK(whole->results[0].bytes == apart->results[0].bytes);
    CHECK(compare_results(trial, whole->results, expected) == "");
  }
}

TEST_CASE("scans of many columns, which eight vectors or fewer share, equal plain code" * test::Sliced()) {
  std::mt19937_64 random(65);
  constexpr Op kOps[] = {Op::cumulative_sum, Op::cumulative_max, Op::cumulative_prod, Op::cumulative_min};
  const std::vector<Extents> shapes = {{3, 511}, {4, 2049}, {7, 1000}, {2, 5, 700}, {130, 1024}, {3, 2, 4100}};
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::kBool) continue;
    for (const Extents& shape : shapes) {
      const Op op = kOps[++iteration % 4];
      Tensor x(dtype, shape);
      for (std::int64_t i = 0; i < x.num_elements(); ++i) {
        reference::write_element(dtype, op == Op::cumulative_prod ? 1.0 : static_cast<double>(random() % 3),
                                 x.element(i));
      }
      const ScanAttrs attributes{.axis = static_cast<std::int64_t>(shape.size()) - 2,
                                 .exclusive = iteration % 3 == 0,
                                 .reverse = iteration % 5 < 2};
      OpRunOptions options;
      options.run.target = host_targets()[iteration % host_targets().size()];
      options.strides = iteration % 4 == 0 ? Strides::kPadded : Strides::kDense;
      options.guard = iteration % 2 == 0 ? GuardedBuffer::Guard::kAfter : GuardedBuffer::Guard::kBefore;
      check(op, attributes, x, reference::evaluate(op, attributes, {&x, 1}), options, "scan_lines");
    }
  }
}
