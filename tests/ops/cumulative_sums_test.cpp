// SPDX-License-Identifier: Apache-2.0
// Cumulative sums of many floats, by every algorithm: no position differs from a long double's sum by more than the
// bound of nested carries (src/jit/algorithms/scan/nested_carry.h), which one carry for a whole row exceeds.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/hal/gfx_target.h"
#include "tests/reference/tensor.h"
#include "tests/support/kernels/run_request.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

namespace {

/// Lines of `n` elements that are rows of a matrix, or its columns.
struct Lines {
  DType dtype = DType::kF32;
  std::int64_t n = 0, count = 1;
  bool are_columns = false, exclusive = false, reverse = false;
  bool is_symbolic = false;  // a run binds n

  std::int64_t num_elements() const { return n * count; }
  std::int64_t place(std::int64_t line, std::int64_t step) const {
    const std::int64_t position = reverse ? n - 1 - step : step;
    return are_columns ? position * count + line : line * n + position;
  }
  ScanDescriptor scan() const {
    const SizeExpr length = is_symbolic ? SizeExpr(Dim("n")) : SizeExpr(n);
    const Shape shape = are_columns ? Shape{length, count} : Shape{count, length};
    return {.name = "scan",
            .input = {"x", {dtype, shape}, Layout::row_major(shape)},
            .result = {"y", {dtype, shape}, Layout::row_major(shape)},
            .axis = are_columns ? 0u : 1u,
            .kind = ReductionKind::kSum,
            .exclusive = exclusive,
            .reverse = reverse};
  }
};

/// The element that is added in a step.
using Term = std::function<double(std::int64_t step)>;

double one(std::int64_t) { return 1; }
double tenth(std::int64_t) { return 0.1; }

class Sums {
 public:
  Sums(const Lines& lines, const Term& term) : lines_(lines), x_(bytes()), y_(bytes()) {
    for (std::int64_t line = 0; line < lines.count; ++line) {
      for (std::int64_t step = 0; step < lines.n; ++step) {
        reference::write_element<long double>(lines.dtype, term(step), at(x_, line, step));
      }
    }
  }

  Status run(RunOptions options) {
    if (lines_.is_symbolic) options.symbols = {{"n", lines_.n}};
    const BufferBinding from = {x_.data(), x_.size()}, to = {y_.data(), y_.size()};
    return run_request(lines_.scan(), {&from, 1}, {&to, 1}, options).status();
  }

  /// The positions whose result is not the exact sum, rounded once.
  std::int64_t num_inexact() {
    std::int64_t count = 0;
    for_each([&](long double found, long double sum, long double) { count += found != rounded(sum); });
    return count;
  }

  /// The greatest error as a fraction of sum |x|, infinite where a result is NaN. Half an ulp is left to a result that
  /// is narrower than its sum.
  double error() {
    const bool is_narrow = size_bytes(lines_.dtype) == 2;
    double greatest = 0;
    for_each([&](long double found, long double sum, long double size) {
      const long double half_ulp = is_narrow ? std::fabs(sum - rounded(sum)) : 0;
      const long double error = std::fabs(found - sum) - half_ulp;
      if (std::isnan(found)) greatest = std::numeric_limits<double>::infinity();
      if (size > 0) greatest = std::max(greatest, static_cast<double>(error / size));
    });
    return greatest;
  }

  long double result(std::int64_t line, std::int64_t step) {
    return reference::read_element<long double>(lines_.dtype, at(y_, line, step));
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(lines_.num_elements()) * size_bytes(lines_.dtype); }
  std::byte* at(std::vector<std::byte>& tensor, std::int64_t line, std::int64_t step) const {
    return tensor.data() + static_cast<std::size_t>(lines_.place(line, step)) * size_bytes(lines_.dtype);
  }

  long double rounded(long double sum) const {
    std::byte element[8];
    reference::write_element<long double>(lines_.dtype, sum, element);
    return reference::read_element<long double>(lines_.dtype, element);
  }

  template <class F>
  void for_each(F&& f) {
    for (std::int64_t line = 0; line < lines_.count; ++line) {
      long double sum = 0, size = 0;
      for (std::int64_t step = 0; step < lines_.n; ++step) {
        const auto x = reference::read_element<long double>(lines_.dtype, at(x_, line, step));
        if (!lines_.exclusive) sum += x, size += std::fabs(x);
        f(result(line, step), sum, size);
        if (lines_.exclusive) sum += x, size += std::fabs(x);
      }
    }
  }

  Lines lines_;
  std::vector<std::byte> x_, y_;
};

std::vector<TargetSpec> gpu_targets() {
  std::vector<TargetSpec> targets;
  for (const GfxTarget& gfx : gfx_targets()) targets.push_back({.family = "amdgpu", .gfx = std::string(gfx.name)});
  return targets;
}

/// What an algorithm of the host refuses, on the levels without lanes or for columns, is left out.
template <class Check>
void for_each_way(const Lines& lines, const Term& term, Check&& check,
                  const std::vector<TargetSpec>& targets = host_targets()) {
  Sums sums(lines, term);
  CAPTURE(to_text(lines.dtype));
  CAPTURE(lines.n);
  CAPTURE(lines.count);
  CAPTURE(lines.are_columns);
  for (const TargetSpec& target : targets) {
    std::size_t num_run = 0;
    for (const std::string algorithm : {"", "lane_scan_parts", "lane_scan", "scan_lines"}) {
      CAPTURE(target.to_text());
      CAPTURE(algorithm);
      const Status status = sums.run({.target = target, .force_algorithm = algorithm});
      if (!algorithm.empty() && status.code() == StatusCode::kUnimplemented) continue;
      REQUIRE(status.message() == "");
      ++num_run;
      check(sums);
    }
    CHECK(num_run == (lines.are_columns || target.isa == IsaLevel::kBaseline ? 2 : 4));
  }
}

void check_gpus(const Lines& lines, const std::string& algorithm, const Term& term, double bound) {
  Sums sums(lines, term);
  for (const TargetSpec& target : gpu_targets()) {
    CAPTURE(target.to_text());
    CAPTURE(algorithm);
    REQUIRE(sums.run({.target = target, .force_algorithm = algorithm}).message() == "");
    CHECK(sums.error() <= bound);
  }
}

/// The documented bound of a sum with `levels` levels, plus two roundings, as in reference::roundings_of_sum.
constexpr double bound_of(int levels) { return (128 * levels + 18) * 0x1p-24; }

}  // namespace

TEST_CASE("a cumulative sum of ones is exact where each sum can be stored, and rounded once beyond" * test::Sliced()) {
  // An f32 is one carry up to 2^24.
  std::vector<Lines> all = {{.n = 20'000'000}, {.n = 17'500'000, .exclusive = true, .reverse = true}};
  if (tested_slice().count == 1) {
    all.push_back({.n = 40'000'000});
    all.push_back({.n = 20'000'000, .count = 2, .are_columns = true});
    all.push_back({.n = 40'000'000, .reverse = true, .is_symbolic = true});
  }
  for (const Lines& lines : all) {
    for_each_way(lines, one, [](Sums& sums) { CHECK(sums.num_inexact() == 0); });
  }
}

TEST_CASE("the matrix of cumulative sums of a hundred million floats" * test::Sliced()) {
  const std::vector<TargetSpec> best = {host_targets().back()};
  const Lines rows = {.n = 100'000'000}, columns = {.n = 50'000'000, .count = 2, .are_columns = true};
  const auto check_exact = [](Sums& sums) { CHECK(sums.num_inexact() == 0); };
  const auto check_near = [](Sums& sums) { CHECK(sums.error() <= 5e-6); };
  const Slice slice = tested_slice_of_long_cases();
  if (slice.has(1)) for_each_way(rows, one, check_exact, best);
  if (slice.has(2)) for_each_way(rows, tenth, check_near, best);
  if (slice.has(3)) for_each_way(columns, one, check_exact, best);
  if (slice.has(4)) for_each_way(columns, tenth, check_near, best);
}

TEST_CASE("ones in other dtypes and with other signs sum exactly") {
  for_each_way({.dtype = DType::kF16, .n = 65'000}, one, [](Sums& sums) { CHECK(sums.num_inexact() == 0); });
  for_each_way({.dtype = DType::kBF16, .n = 1'000'000, .reverse = true}, one,
               [](Sums& sums) { CHECK(sums.num_inexact() == 0); });
  for_each_way({.dtype = DType::kF64, .n = 300'000}, one, [](Sums& sums) { CHECK(sums.num_inexact() == 0); });
  const auto alternating = [](std::int64_t step) { return step % 2 == 0 ? 3000. : -2999.; };
  for (const bool are_columns : {false, true}) {
    for_each_way({.n = 1'000'001, .count = 3, .are_columns = are_columns, .exclusive = are_columns}, alternating,
                 [](Sums& sums) { CHECK(sums.num_inexact() == 0); });
  }
}

TEST_CASE("tenths do not drift" * test::Sliced()) {
  static constexpr double kBound = 5e-6;
  const auto check = [](Sums& sums) { CHECK(sums.error() <= kBound); };
  for_each_way({.n = 1'000'000}, tenth, check);
  for_each_way({.n = 5'000'000, .exclusive = true, .reverse = true}, tenth, check);
  for_each_way({.n = 300'000, .count = 3, .are_columns = true}, tenth, check);
  for_each_way({.n = 100'000, .count = 37, .are_columns = true, .reverse = true}, tenth, check);
  for_each_way({.dtype = DType::kF16, .n = 300'000}, tenth, check);
  for_each_way({.dtype = DType::kBF16, .n = 1'000'000, .exclusive = true}, tenth, check);
  for_each_way({.dtype = DType::kBF16, .n = 200'000, .count = 5, .are_columns = true}, tenth, check);
}

TEST_CASE("small terms next to a large one are not lost" * test::Sliced()) {
  // Blocks of ones are kept as soon as the large term is in another one.
  const auto large_first = [](double large) { return [large](std::int64_t step) { return step == 0 ? large : 1.; }; };
  const auto check = [](Sums& sums) { CHECK(sums.error() <= bound_of(3)); };
  for (const bool are_columns : {false, true}) {
    const std::int64_t count = are_columns ? 3 : 1;
    for_each_way({.n = 1'000'000, .count = count, .are_columns = are_columns}, large_first(0x1p24), check);
    for_each_way(
        {.n = 1'000'000, .count = count, .are_columns = are_columns},
        [](std::int64_t step) { return step == 500'000 ? 1e9 : 1.; }, check);
  }
  const auto check_wide = [](Sums& sums) { CHECK(sums.error() <= std::ldexp(bound_of(3), 24 - 53)); };
  for_each_way({.dtype = DType::kF64, .n = 1'000'000}, large_first(0x1p53), check_wide);
  for_each_way({.dtype = DType::kF64, .n = 100'000, .count = 2, .are_columns = true}, large_first(0x1p53), check_wide);
}

TEST_CASE("infinities and NaNs reach every later sum, and none before" * test::Sliced()) {
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  static constexpr std::int64_t n = 300'000, kFirst = 70'000, kSecond = 200'001;
  for (const double second : {-kInf, std::numeric_limits<double>::quiet_NaN()}) {
    const auto term = [=](std::int64_t step) { return step == kFirst ? kInf : step == kSecond ? second : 0.5; };
    for (const bool are_columns : {false, true}) {
      for_each_way({.n = n, .count = 2, .are_columns = are_columns}, term, [](Sums& sums) {
        std::int64_t num_finite = 0, num_infinite = 0, num_nan = 0;
        for (std::int64_t step = 0; step < n; ++step) {
          const long double sum = sums.result(1, step);
          num_finite += sum == 0.5 * static_cast<double>(step + 1);
          num_infinite += sum == kInf;
          num_nan += std::isnan(sum);
        }
        CHECK(num_finite == kFirst);
        CHECK(num_infinite == kSecond - kFirst);
        CHECK(num_nan == n - kSecond);
      });
    }
  }
}

TEST_CASE("sums of rows whose length a run binds nest for any length" * test::Sliced()) {
  for (const bool are_columns : {false, true}) {
    for (const std::int64_t n : {1, 127, 129, 2049, 20'000, 1'000'000}) {
      for_each_way({.n = n, .count = are_columns ? 2 : 1, .are_columns = are_columns, .is_symbolic = true}, tenth,
                   [](Sums& sums) { CHECK(sums.error() <= 5e-6); });
    }
  }
}

TEST_CASE("sums nest on GPUs: small terms next to a large one are not lost in executed machine code" * test::Sliced()) {
  const auto large_first = [](double large) { return [large](std::int64_t step) { return step == 0 ? large : 1.; }; };
  for (const bool is_symbolic : {false, true}) {
    CAPTURE(is_symbolic);
    check_gpus({.n = 20'000, .are_columns = true, .reverse = true, .is_symbolic = is_symbolic}, "gpu_scan_columns",
               large_first(0x1p24), bound_of(2));
    // A step takes 1024 ones, half an ulp of the large term.
    check_gpus({.n = 400'000, .is_symbolic = is_symbolic}, "gpu_scan_rows", large_first(0x1p34), bound_of(1));
    check_gpus({.n = 100'000, .exclusive = true, .is_symbolic = is_symbolic}, "gpu_scan_pieces", tenth, 5e-6);
  }
  check_gpus({.dtype = DType::kBF16, .n = 3000, .count = 70, .are_columns = true}, "gpu_scan_columns", tenth, 5e-6);
  check_gpus({.dtype = DType::kF64, .n = 20'000, .count = 3, .are_columns = true}, "gpu_scan_columns",
             large_first(0x1p53), std::ldexp(bound_of(2), 24 - 53));
}
