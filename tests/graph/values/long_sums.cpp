// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/values/long_sums.h"

#include <cmath>

#include <doctest/doctest.h>

namespace millrace::test {

using Extents = reference::Extents;

ExactSums::ExactSums(const reference::Tensor& matrix, Along along)
    : lines(static_cast<std::size_t>(matrix.extents()[along == Along::kRows ? 0 : 1])) {
  const std::int64_t columns = matrix.extents()[1];
  for (std::int64_t i = 0; i < matrix.num_elements(); ++i) {
    const long double term = element(matrix, i);
    lines[static_cast<std::size_t>(along == Along::kRows ? i / columns : i % columns)].add(term);
    all.add(term);
  }
}

Graph sums_of(DType dtype, const SizeExpr& rows, const SizeExpr& columns, Along along) {
  GraphBuilder graph("sums");
  const Tensor x = graph.input("x", dtype, {rows, columns});
  const std::vector<std::int64_t> axes = {along == Along::kRows ? 1 : 0};
  graph.output("sums", reduce_sum(x, axes));
  graph.output("means", reduce_mean(x, axes));
  graph.output("sum of all", reduce_sum(x, {0, 1}));
  graph.output("mean of all", reduce_mean(x, {0, 1}));
  return graph.finish().value();
}

void check_elements(const reference::Tensor& found, std::span<const ExactSum> exact, const Terms& terms, bool is_mean) {
  const DType dtype = found.type.dtype;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const long double factor = is_mean ? 1.0L / static_cast<long double>(exact[i].count) : 1.0L;
    if (dtype == DType::kF16 && std::fabs(exact[i].sum * factor) > 60'000) continue;
    const long double value = element(found, static_cast<std::int64_t>(i));
    const std::string wrong = check_sum(dtype, value, exact[i], terms, kSumLimits, factor);
    CHECK_MESSAGE(wrong == "", found.type.to_text(), " element ", i, ": ", wrong);
    if (!wrong.empty()) break;
  }
}

void check_sums(const Program& program, const reference::Tensor& x, const ExactSums& exact, const Terms& terms) {
  const std::vector<reference::Tensor> found = run_once(program, std::span(&x, 1));
  for (std::size_t i = 0; i < 2; ++i) {
    check_elements(found[i], exact.lines, terms, i == 1);
    check_elements(found[2 + i], std::span(&exact.all, 1), terms, i == 1);
  }
}

void check_matrices(DType dtype, Along along, std::span<const std::string> devices, std::span<const Extents> matrices,
                    std::span<const char* const> names_of_terms) {
  const Graph graph = sums_of(dtype, Dim("rows"), Dim("columns"), along);
  std::vector<Program> programs;
  for (const std::string& device : devices) programs.push_back(compile_on(device, graph));
  for (const char* name : names_of_terms) {
    const Terms& terms = terms_called(name);
    for (const Extents& extents : matrices) {
      const reference::Tensor x = make_terms(terms, dtype, extents);
      const ExactSums exact(x, along);
      for (std::size_t i = 0; i < programs.size(); ++i) {
        CAPTURE(devices[i]);
        CAPTURE(x.type.to_text());
        check_sums(programs[i], x, exact, terms);
      }
    }
  }
}

Products::Products(const Factors& factors, const Extents& x_extents, const Extents& y_extents)
    : terms{.name = factors.x, .at = nullptr},
      x(make_terms(terms_called(factors.x), DType::kF32, x_extents, 1)),
      y(make_terms(terms_called(factors.y), DType::kF32, y_extents, 2)) {
  const Terms &of_x = terms_called(factors.x), &of_y = terms_called(factors.y);
  terms.is_positive = of_x.is_positive && of_y.is_positive;
  terms.is_exact = of_x.name == std::string_view("ones") && of_y.name == std::string_view("ones");
}

ExactSum Products::exact_product(std::int64_t at) const {
  const std::int64_t k = y.extents()[0], n = y.extents()[1];
  ExactSum exact;
  for (std::int64_t i = 0; i < k; ++i) exact.add(element(x, at / n * k + i) * element(y, i * n + at % n));
  return exact;
}

ExactSum Products::exact_convolution(std::int64_t at) const {
  const Extents image = x.extents(), window = y.extents();
  const std::int64_t of_channel = window[2] * window[3], count = window[1] * of_channel;
  const std::int64_t rows = image[2] - window[2] + 1, columns = image[3] - window[3] + 1;
  const std::int64_t first = at / (rows * columns) * count;
  ExactSum exact;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = at / columns % rows + i % of_channel / window[3], column = at % columns + i % window[3];
    exact.add(element(x, (i / of_channel * image[2] + row) * image[3] + column) * element(y, first + i));
  }
  return exact;
}

std::string Products::check(long double found, const ExactSum& exact) const {
  return check_sum(DType::kF32, found, exact, terms, kProductLimits);
}

}  // namespace millrace::test
