// SPDX-License-Identifier: Apache-2.0
// Long sums on GPUs, simulated and as executed machine code, against exact ones.
#include <array>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/hal/gfx_target.h"
#include "millrace/millrace.h"
#include "tests/graph/values/long_sums.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::Along;
using test::compile_on;
using test::element;
using test::run_once;
using Extents = reference::Extents;

struct Matrix {
  const char* terms;
  Extents extents;
  DType dtype = DType::kF32;
  bool is_symbolic = true;  // a run binds its extents
};

void check_matrix(const std::string& device, const Matrix& matrix) {
  const test::Terms& terms = test::terms_called(matrix.terms);
  const reference::Tensor x = test::make_terms(terms, matrix.dtype, matrix.extents);
  const Along along = matrix.extents[0] < matrix.extents[1] ? Along::kRows : Along::kColumns;
  const SizeExpr rows = matrix.is_symbolic ? SizeExpr(Dim("rows")) : SizeExpr(matrix.extents[0]);
  const SizeExpr columns = matrix.is_symbolic ? SizeExpr(Dim("columns")) : SizeExpr(matrix.extents[1]);
  CAPTURE(device);
  CAPTURE(x.type.to_text());
  const Program program = compile_on(device, test::sums_of(matrix.dtype, rows, columns, along));
  test::check_sums(program, x, test::ExactSums(x, along), terms);
}

/// Whether a sum of positive terms, or a result computed from it, is near enough.
bool is_near(long double found, long double expected) {
  return std::fabs(found - expected) <= test::kSumLimits.relative * expected;
}

/// Each cumulative sum along the longer dim of a matrix of positive terms.
void check_scan(const std::string& device, const Matrix& matrix) {
  const std::int64_t rows = matrix.extents[0], columns = matrix.extents[1], axis = rows < columns ? 1 : 0;
  GraphBuilder builder("scan");
  const Tensor x = builder.input("x", matrix.dtype, {Dim("rows"), Dim("columns")});
  builder.output("y", cumulative_sum(x, {.axis = axis}));
  const reference::Tensor terms = test::make_terms(test::terms_called(matrix.terms), matrix.dtype, matrix.extents);
  const auto found = run_once(compile_on(device, builder.finish().value()), std::span(&terms, 1));
  std::int64_t num_wrong = 0;
  std::vector<long double> sums(static_cast<std::size_t>(axis == 1 ? rows : columns));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    long double& sum = sums[static_cast<std::size_t>(axis == 1 ? i / columns : i % columns)];
    sum += element(terms, i);
    num_wrong += is_near(element(found[0], i), sum) ? 0 : 1;
  }
  CHECK_MESSAGE(num_wrong == 0, device, " ", matrix.terms, " ", terms.type.to_text());
}

void check_product(const std::string& device) {
  constexpr std::int64_t kSide = 16, kLength = 100'000;
  GraphBuilder builder("product");
  const Tensor x = builder.input("x", DType::kF32, {kSide, kLength});
  const Tensor y = builder.input("y", DType::kF32, {kLength, kSide});
  builder.output("product", matmul(x, y));
  const test::Products products({"hundreds", "tenths"}, {kSide, kLength}, {kLength, kSide});
  const auto found = run_once(compile_on(device, builder.finish().value()), std::array{products.x, products.y});
  for (std::int64_t at = 0; at < kSide * kSide; ++at) {
    const std::string wrong = products.check(element(found[0], at), products.exact_product(at));
    CHECK_MESSAGE(wrong == "", device, " element ", at, ": ", wrong);
  }
}

void check_convolution(const std::string& device) {
  const Extents image = {1, 11'112, 4, 4}, filters = {2, 11'112, 3, 3};
  GraphBuilder builder("convolution");
  const Tensor x = builder.input("x", DType::kF32, {1, image[1], image[2], image[3]});
  const Tensor w = builder.input("w", DType::kF32, {filters[0], filters[1], filters[2], filters[3]});
  builder.output("y", conv2d(x, w));
  const test::Products products({"shuffled large", "hundreds"}, image, filters);
  const auto found = run_once(compile_on(device, builder.finish().value()), std::array{products.x, products.y});
  for (std::int64_t at = 0; at < 8; ++at) {
    const std::string wrong = products.check(element(found[0], at), products.exact_convolution(at));
    CHECK_MESSAGE(wrong == "", device, " element ", at, ": ", wrong);
  }
}

void check_softmax(const std::string& device) {
  constexpr std::int64_t kCount = 100'000;
  GraphBuilder builder("softmax");
  builder.output("y", softmax(builder.input("x", DType::kF32, {1, kCount})));
  const Program program = compile_on(device, builder.finish().value());
  for (const char* name : {"tenths", "alternating"}) {
    const reference::Tensor row = test::make_terms(test::terms_called(name), DType::kF32, {1, kCount});
    const auto found = run_once(program, std::span(&row, 1));
    std::int64_t num_wrong = 0;
    long double exponentials = 0;
    for (std::int64_t i = 0; i < kCount; ++i) exponentials += std::exp(element(row, i));
    for (std::int64_t i = 0; i < kCount; ++i) {
      num_wrong += is_near(element(found[0], i), std::exp(element(row, i)) / exponentials) ? 0 : 1;
    }
    CHECK_MESSAGE(num_wrong == 0, device, " ", name);
  }
}

/// Each GPU, simulated and with its machine code executed.
std::vector<std::string> gpu_devices() {
  std::vector<std::string> devices;
  for (const GfxTarget& gfx : gfx_targets()) {
    devices.push_back(fmt::format("sim:{}", gfx.name));
    devices.push_back(fmt::format("isa:{}", gfx.name));
  }
  return devices;
}

TEST_CASE("long sums on GPUs are near the exact ones" * test::Sliced()) {
  check_matrix("sim:gfx1100", {"tenths", {1, 1'000'000}});
  check_matrix("sim:gfx90a", {"hundreds", {250'000, 4}});
  check_matrix("isa:gfx1100", {"hundreds", {1, 200'003}});
  check_matrix("isa:gfx90a", {"tenths", {50'000, 4}});
  check_product("sim:gfx1100");
  check_convolution("isa:gfx90a");
  check_softmax("isa:gfx1100");
}

TEST_CASE("the matrix of long sums on every GPU: totals, columns, scans, products, convolutions and softmax" *
          test::Sliced()) {
  using Check = void (*)(const std::string& device);
  constexpr Check kChecks[] = {
      [](const std::string& device) { check_matrix(device, {"tenths", {1, 1'000'000}}); },
      [](const std::string& device) { check_matrix(device, {"shuffled large", {1, 1'000'003}}); },
      [](const std::string& device) { check_matrix(device, {"ones", {1'000'000, 3}}); },
      [](const std::string& device) { check_matrix(device, {"hundreds", {250'000, 4}}); },
      [](const std::string& device) { check_matrix(device, {"hundreds", {1, 1'000'000}, DType::kF32, false}); },
      [](const std::string& device) { check_matrix(device, {"tenths", {300'007, 3}, DType::kF32, false}); },
      [](const std::string& device) { check_matrix(device, {"tenths", {1, 100'003}, DType::kF16}); },
      [](const std::string& device) { check_matrix(device, {"hundreds", {100'003, 2}, DType::kBF16}); },
      [](const std::string& device) { check_matrix(device, {"shuffled geometric", {1, 100'003}, DType::kF64}); },
      [](const std::string& device) { check_scan(device, {"tenths", {1, 1'000'000}}); },
      [](const std::string& device) { check_scan(device, {"shuffled large", {100'003, 3}}); },
      check_product,
      check_convolution,
      check_softmax,
  };
  const test::Slice slice = test::tested_slice_of_long_cases();
  std::size_t number = 0, num_run = 0;
  for (const std::string& device : gpu_devices()) {
    for (const Check check : kChecks) {
      if (!slice.has(++number)) continue;
      CAPTURE(number);
      check(device);
      ++num_run;
    }
  }
  MESSAGE("slice ", to_text(slice), ": ", num_run, " checks");
}

}  // namespace
}  // namespace millrace
