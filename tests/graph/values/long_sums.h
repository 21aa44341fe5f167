// SPDX-License-Identifier: Apache-2.0
// Graphs of long sums, and exact sums to compare their outputs with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/graph/run/run_on_levels.h"
#include "tests/support/ops/long_terms.h"

namespace millrace::test {

/// Along which dim of a matrix the sums go that are tested, next to those of all its elements.
enum class Along { kRows, kColumns };

/// The exact sums of a matrix: of each row or column, and of all elements.
struct ExactSums {
  ExactSums(const reference::Tensor& matrix, Along);
  std::vector<ExactSum> lines;
  ExactSum all;
};

/// Sums and means along the dim, and of all.
Graph sums_of(DType, const SizeExpr& rows, const SizeExpr& columns, Along);

/// Holds each element to its sum, or to its mean.
void check_elements(const reference::Tensor& found, std::span<const ExactSum> exact, const Terms&, bool is_mean);

/// Runs a program of sums_of().
void check_sums(const Program&, const reference::Tensor& x, const ExactSums&, const Terms&);

/// Runs one program for each of the devices, with matrices whose sizes only the run knows.
void check_matrices(DType, Along, std::span<const std::string> devices, std::span<const reference::Extents> matrices,
                    std::span<const char* const> names_of_terms);

struct Factors {
  const char* x;
  const char* y;
};
inline constexpr Factors kFactors[] = {{"ones", "ones"},           {"ones", "tenths"},
                                       {"hundreds", "tenths"},     {"one large", "ones"},
                                       {"geometric", "hundreds"},  {"shuffled large", "shuffled geometric"},
                                       {"hundreds", "alternating"}};

/// Two tensors whose products are the terms of sums.
struct Products {
  Products(const Factors&, const reference::Extents& x_extents, const reference::Extents& y_extents);

  /// An element of x[m, k] times y[k, n], by its place.
  ExactSum exact_product(std::int64_t at) const;
  /// An element of conv2d(x[1, c, rows, columns], y[filters, c, h, w]), by its place.
  ExactSum exact_convolution(std::int64_t at) const;
  /// What is wrong with a result, or nothing.
  std::string check(long double found, const ExactSum&) const;

  Terms terms;
  reference::Tensor x, y;
};

}  // namespace millrace::test
