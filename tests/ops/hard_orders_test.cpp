// SPDX-License-Identifier: Apache-2.0
// Sort and topk of rows that are hard for what is chosen for them, in every dtype, at sizes around the thresholds of
// the code: registers, partitions, blocks.
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/reference/evaluate.h"
#include "tests/support/op_driver.h"

using namespace millrace;
using namespace millrace::test;
using reference::Tensor;

namespace {

struct HardRow {
  std::string_view name;
  std::function<double(std::int64_t i, std::int64_t n, std::mt19937_64& random)> value;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<HardRow> hard_rows(DType dtype) {
  using I = std::int64_t;
  using R = std::mt19937_64;
  std::vector<HardRow> rows = {
      {"random", [](I, I, R& random) { return std::ldexp(static_cast<double>(random() % 65536), -7) - 200; }},
      {"ascending", [](I i, I, R&) { return static_cast<double>(i); }},
      {"descending", [](I i, I n, R&) { return static_cast<double>(n - i); }},
      {"equal", [](I, I, R&) { return 7.0; }},
      {"two values", [](I, I, R& random) { return static_cast<double>(random() % 2); }},
      {"sixteen values", [](I, I, R& random) { return static_cast<double>(random() % 16); }},
      {"organ pipe", [](I i, I n, R&) { return static_cast<double>(std::min(i, n - i)); }},
      {"sawtooth", [](I i, I, R&) { return static_cast<double>(i % 97); }},
      {"first ones in one chunk",
       [](I i, I n, R& random) {
         const bool is_in = i >= n / 2 && i < n / 2 + 64;
         return is_in ? 100.0 + static_cast<double>(random() % 20) : static_cast<double>(random() % 50);
       }},
  };
  if (!is_float(dtype)) return rows;
  for (const double share : {.1, .5, 1.}) {
    rows.push_back({"NaN", [share](I, I, R& random) {
                      const double value = static_cast<double>(random() % 1000) / 8;
                      return static_cast<double>(random() % 1000) < share * 1000 ? kNan : value;
                    }});
  }
  rows.push_back(
      {"masked", [](I i, I n, R&) { return i % (n / 5 + 1) == 3 ? static_cast<double>(i % 7) : -kInfinity; }});
  rows.push_back({"all greatest", [](I, I, R&) { return kInfinity; }});
  rows.push_back({"mixed zeros", [](I, I, R& random) {
                    constexpr double kValues[] = {0., -0., -1., 0., -0., 1.};
                    return kValues[random() % 6];
                  }});
  return rows;
}

/// Row `i` is of the kind hard[i % hard.size()].
Tensor make_rows(DType dtype, std::int64_t num_rows, std::int64_t n, std::span<const HardRow> hard,
                 std::mt19937_64& random) {
  Tensor tensor(dtype, num_rows == 1 ? std::vector<std::int64_t>{n} : std::vector<std::int64_t>{num_rows, n});
  // Integers hold what they can, so that rows of 8 bits have runs.
  const double most = dtype == DType::kBool ? 2 : std::ldexp(1, static_cast<int>(8 * size_bytes(dtype)) - 1);
  for (std::int64_t i = 0; i < num_rows * n; ++i) {
    double value = hard[static_cast<std::size_t>(i / n) % hard.size()].value(i % n, n, random);
    if (!is_float(dtype)) value = std::fmod(std::floor(std::abs(value)), most);
    reference::write_element(dtype, value, tensor.element(i));
    // NaNs of several signs and payloads.
    if (std::isnan(value)) {
      std::byte* last = static_cast<std::byte*>(tensor.element(i)) + size_bytes(dtype) - 1;
      if (random() % 2 == 0) *last = *last ^ std::byte{0x80};
      std::byte* first = static_cast<std::byte*>(tensor.element(i));
      *first = *first ^ static_cast<std::byte>(random() % 4);
    }
  }
  return tensor;
}
Tensor make_row(DType dtype, std::int64_t n, const HardRow& row, std::mt19937_64& random) {
  return make_rows(dtype, 1, n, {&row, 1}, random);
}

void check(Op op, const Attributes& attributes, const Tensor& row, std::string_view name, DriverTally& tally) {
  const std::vector<Tensor> expected = reference::evaluate(op, attributes, {&row, 1});
  for (const TargetSpec& target : host_targets()) {
    if (target.isa == IsaLevel::kBaseline) continue;
    for (const std::uint32_t used : {1u, 2u, 3u}) {
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
        const Tensor row = make_row(dtype, n, hard, random);
        // Each row has some k, so that all meet all.
        constexpr std::int64_t kFew[] = {1, 7, 50, 128};
        const std::int64_t k = turn % 5 == 4 ? std::min<std::int64_t>(1024, n / 8) : kFew[turn % 5 % 4];
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
    const std::vector<HardRow> hard = hard_rows(dtype);
    for (const std::int64_t n : {48, 63, 64, 65, 127, 255, 256, 257, 1000, 2047, 2048, 2049}) {
      for (const std::int64_t k : {1, 2, 5, 8, 16, 17, 31, 32}) {
        if (++turn % 3 != 0) continue;
        const Tensor rows = make_rows(dtype, 37, n, hard, random);
        const TopKAttrs attributes = {.k = std::min(k, n / 4), .largest = turn / 3 % 2 == 0};
        check(Op::topk, attributes, rows, "short rows", tally);
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
        const Tensor row = make_row(dtype, n, hard, random);
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
        const Tensor row = make_row(dtype, n, hard, random);
        check(Op::sort, SortAttrs{.axis = 0, .descending = turn++ % 2 == 0}, row, hard.name, tally);
        if (n > 1) check(Op::topk, TopKAttrs{.k = n - 1, .largest = turn % 2 == 0}, row, hard.name, tally);
      }
    }
  }
  check_none(tally);
}
