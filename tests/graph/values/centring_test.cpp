// SPDX-License-Identifier: Apache-2.0
// Norms of constant or nearly constant rows: the difference of an element and the mean must not be a mere rounding
// error.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/hal/target_spec.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using Extents = reference::Extents;

constexpr double kEpsilon = 1e-12;  // makes any rounding error large

struct NormProgram {
  std::string device;
  Program program;
};

/// On every level of the host; `dtype` x[rows, n], or as `shape` says.
std::vector<NormProgram> layer_norms(DType dtype, const Shape& shape, double epsilon = kEpsilon) {
  GraphBuilder builder("norm");
  const Tensor x = builder.input("x", dtype, shape);
  const Tensor scale = builder.fill(dtype, {1}, 1), bias = builder.fill(dtype, {1}, 0);
  builder.output("y", layer_norm(x, scale, bias, epsilon));
  const Graph graph = builder.finish().value();
  std::vector<NormProgram> programs;
  for (const IsaLevel isa : host_isa_levels()) {
    CompileOptions options;
    options.context = test::test_context();
    options.device = "cpu:" + std::string(to_text(isa));
    programs.push_back({options.device, compile(graph, options).value()});
  }
  return programs;
}

const Shape kAnyRows = {Dim("rows"), Dim("n")};

std::vector<double> run_norm(const NormProgram& norm, const reference::Tensor& x) {
  const auto outputs = test::run_guarded(norm.program, std::span(&x, 1), {}, 1);
  REQUIRE(outputs.status().message() == "");
  return reference::read_all<double>((*outputs)[0]);
}

reference::Tensor filled(DType dtype, const Extents& extents, const std::function<double(std::int64_t)>& at) {
  reference::Tensor tensor(dtype, extents);
  for (std::int64_t i = 0; i < tensor.num_elements(); ++i) reference::write_element(dtype, at(i), tensor.element(i));
  return tensor;
}

std::int64_t count_other_than_0(const std::vector<double>& values) {
  return std::ranges::count_if(values, [](double value) { return value != 0; });
}

constexpr double kConstants[] = {98765.43, 1e30, 1e-30, 0.1, -3.3, 3e38};

void check_constant_rows(DType dtype, std::span<const NormProgram> norms, const Extents& extents) {
  for (const double value : kConstants) {
    if (size_bytes(dtype) == 2 && std::fabs(value) > 6e4) continue;
    const reference::Tensor x = filled(dtype, extents, [&](std::int64_t) { return value; });
    for (const NormProgram& norm : norms) {
      CHECK_MESSAGE(count_other_than_0(run_norm(norm, x)) == 0, norm.device, " ", x.type.to_text(), " of ", value);
    }
  }
}

TEST_CASE("layer_norm of constant rows is exactly 0" * test::Sliced()) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    const std::vector<NormProgram> norms = layer_norms(dtype, kAnyRows);
    for (const std::int64_t n : {1, 2, 3, 767, 768, 4096, 1'000'000}) {
      if (dtype != DType::kF32 && n > 4096) continue;
      check_constant_rows(dtype, norms, {n < 5000 ? 3 : 1, n});
    }
  }
  for (const std::int64_t n : {1, 2, 767, 768, 4096}) {
    check_constant_rows(DType::kF32, layer_norms(DType::kF32, {2, n}), {2, n});
  }
}

TEST_CASE("the variance of a constant row is exactly 0" * test::Sliced()) {
  // Without an epsilon 0 is multiplied by 1 / 0, which no other variance gives.
  for (const NormProgram& norm : layer_norms(DType::kF32, kAnyRows, 0)) {
    for (const std::int64_t n : {2, 768, 100'000}) {
      const reference::Tensor x = filled(DType::kF32, {1, n}, [](std::int64_t) { return 98765.43; });
      const std::vector<double> y = run_norm(norm, x);
      CHECK(std::ranges::all_of(y, [](double value) { return std::isnan(value); }));
    }
  }
}

TEST_CASE("layer_norm of empty rows, and of no rows, gives results of the same shape") {
  for (const NormProgram& norm : layer_norms(DType::kF32, kAnyRows)) {
    CHECK(run_norm(norm, reference::Tensor(DType::kF32, {3, 0})).empty());
    CHECK(run_norm(norm, reference::Tensor(DType::kF32, {0, 3})).empty());
    CHECK(run_norm(norm, reference::Tensor(DType::kF32, {0, 0})).empty());
  }
  for (const NormProgram& norm : layer_norms(DType::kF32, {3, 0})) {
    CHECK(run_norm(norm, reference::Tensor(DType::kF32, {3, 0})).empty());
  }
}

/// The largest |found - exact| over the deviation, of one row.
double error_of(const NormProgram& norm, const reference::Tensor& x, bool is_relative) {
  const std::vector<double> y = run_norm(norm, x);
  const auto values = reference::read_all<long double>(x);
  long double mean = 0, variance = 0;
  for (const long double value : values) mean += value / static_cast<long double>(values.size());
  for (const long double value : values) variance += (value - mean) * (value - mean);
  const long double deviation = std::sqrt(variance / static_cast<long double>(values.size()));
  long double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const long double expected = (values[i] - mean) / deviation;
    const long double error = std::fabs(y[i] - expected);
    largest = std::max(largest, is_relative ? error / std::fabs(expected) : error);
  }
  return static_cast<double>(largest);
}

TEST_CASE("layer_norm of rows far from 0 keeps 6 digits" * test::Sliced()) {
  const std::vector<NormProgram> norms = layer_norms(DType::kF32, kAnyRows);
  for (const std::int64_t n : {64, 768, 4096, 1'000'000}) {
    for (const double mean : {1e4, -1e4, 1e6}) {
      std::mt19937_64 random(3);
      std::normal_distribution<double> numbers(mean, 1);
      const reference::Tensor x = filled(DType::kF32, {1, n}, [&](std::int64_t) { return numbers(random); });
      for (const NormProgram& norm : norms) {
        CHECK_MESSAGE(error_of(norm, x, false) < 5e-6, norm.device, " ", n, " about ", mean);
      }
    }
  }
}

TEST_CASE("layer_norm of rows with an outlier keeps the digits of the others, wherever it is" * test::Sliced()) {
  const std::vector<NormProgram> norms = layer_norms(DType::kF32, kAnyRows);
  constexpr std::int64_t n = 4096;
  for (const std::int64_t outlier : {std::int64_t{0}, n / 2, n - 1, n / 3}) {
    const reference::Tensor x =
        filled(DType::kF32, {1, n}, [&](std::int64_t i) { return i == outlier ? 1e6 : std::sin(double(i)); });
    for (const NormProgram& norm : norms) {
      CHECK_MESSAGE(error_of(norm, x, true) < 5e-6, norm.device, " outlier at ", outlier);
    }
  }
}

TEST_CASE("layer_norm of a row with an infinity or a NaN is NaN, and leaves other rows alone") {
  constexpr std::int64_t n = 20;
  for (const NormProgram& norm : layer_norms(DType::kF32, kAnyRows)) {
    for (const double special : {double{INFINITY}, -double{INFINITY}, std::nan("")}) {
      for (const std::int64_t at : {std::int64_t{0}, std::int64_t{3}, n / 2, n - 1}) {
        const reference::Tensor x =
            filled(DType::kF32, {2, n}, [&](std::int64_t i) { return i == at ? special : double(i % n); });
        const std::vector<double> y = run_norm(norm, x);
        CHECK(std::all_of(y.begin(), y.begin() + n, [](double value) { return std::isnan(value); }));
        CHECK(std::none_of(y.begin() + n, y.end(), [](double value) { return std::isnan(value); }));
      }
    }
  }
}

TEST_CASE("group_norm and instance_norm of equal elements are the bias" * test::Sliced()) {
  GraphBuilder builder("norms");
  const SizeExpr batch = Dim("batch"), width = Dim("width");
  const Tensor x = builder.input("x", DType::kF32, {batch, 6, 16, width});
  const Tensor scale = builder.fill(DType::kF32, {6}, 2), bias = builder.fill(DType::kF32, {6}, 0.5);
  builder.output("groups", group_norm(x, 2, scale, bias, kEpsilon));
  builder.output("channels", instance_norm(x, scale, bias, kEpsilon));
  const Graph graph = builder.finish().value();
  for (const CompileOptions& options : test::every_way_to_compile()) {
    const bool is_interpreted = !options.lowering.compile.force_generator.empty();
    const Program program = compile(graph, options).value();
    for (const std::int64_t columns : {0, 1, 7, is_interpreted ? 8 : 1000}) {
      const reference::Tensor images = filled(DType::kF32, {2, 6, 16, columns}, [&](std::int64_t i) {
        return i < 6 * 16 * columns ? 98765.43 : -1e-30;  // one value for each image
      });
      const auto outputs = test::run_guarded(program, std::span(&images, 1));
      REQUIRE(outputs.status().message() == "");
      for (const reference::Tensor& output : *outputs) {
        const std::vector<double> y = reference::read_all<double>(output);
        CHECK(std::ranges::all_of(y, [](double value) { return value == 0.5; }));
      }
    }
  }
}

TEST_CASE("layer_norm of constant rows is exactly 0 on GPUs" * test::Sliced()) {
  GraphBuilder builder("norm");
  const Tensor x = builder.input("x", DType::kF32, kAnyRows);
  const Tensor scale = builder.fill(DType::kF32, {1}, 1), bias = builder.fill(DType::kF32, {1}, 0);
  builder.output("y", layer_norm(x, scale, bias, kEpsilon));
  const Graph graph = builder.finish().value();
  for (const std::string device : {"sim:gfx1100", "sim:gfx90a", "isa:gfx1100", "isa:gfx90a"}) {
    CompileOptions options;
    options.context = test::isa_context();
    options.device = device;
    const NormProgram norm = {device, compile(graph, options).value()};
    for (const std::int64_t n : {1, 2, 768, 10'000}) {
      const reference::Tensor rows =
          filled(DType::kF32, {2, n}, [&](std::int64_t i) { return i < n ? 98765.43 : 0.1; });
      CHECK_MESSAGE(count_other_than_0(run_norm(norm, rows)) == 0, device, " ", n);
    }
  }
}

}  // namespace
}  // namespace millrace
