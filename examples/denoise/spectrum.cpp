// SPDX-License-Identifier: Apache-2.0
// The short-time Fourier transform and its inverse as products with a matrix, one frame at a time.
#include "examples/denoise/spectrum.h"

#include <cmath>
#include <numbers>
#include <vector>

namespace denoise {

using namespace millrace;

namespace {

/// The factor of the frame's point n in bin k, with the window. The squares of the window at n and n + 256 add up to 1.
struct Basis {
  double real = 0, imaginary = 0;
};
Basis basis(std::int64_t n, std::int64_t k) {
  const double window = std::sin(std::numbers::pi * static_cast<double>(n) / kFrame);
  const double angle = 2 * std::numbers::pi * static_cast<double>(n * k % kFrame) / kFrame;
  return {window * std::cos(angle), -window * std::sin(angle)};
}

/// [512, 514]: from points to real and imaginary parts.
std::vector<float> forward_matrix() {
  std::vector<float> matrix;
  for (std::int64_t n = 0; n < kFrame; ++n) {
    for (std::int64_t k = 0; k < kBins; ++k) {
      const Basis at = basis(n, k);
      matrix.insert(matrix.end(), {static_cast<float>(at.real), static_cast<float>(at.imaginary)});
    }
  }
  return matrix;
}

/// [514, 512]: back to points. All bins except the first and the last one stand for their mirror image too.
std::vector<float> inverse_matrix() {
  std::vector<float> matrix(static_cast<std::size_t>(2 * kBins * kFrame));
  for (std::int64_t k = 0; k < kBins; ++k) {
    const double weight = (k == 0 || k == kBins - 1 ? 1.0 : 2.0) / kFrame;
    for (std::int64_t n = 0; n < kFrame; ++n) {
      const Basis at = basis(n, k);
      matrix[static_cast<std::size_t>(2 * k * kFrame + n)] = static_cast<float>(weight * at.real);
      matrix[static_cast<std::size_t>((2 * k + 1) * kFrame + n)] = static_cast<float>(weight * at.imaginary);
    }
  }
  return matrix;
}

}  // namespace

Result<Graph> build_analysis() {
  GraphBuilder graph("analysis");
  const Tensor samples = graph.input("samples", DType::kF32, {kHop});
  const Tensor before = graph.variable("before", {DType::kF32, {kHop}});
  graph.update(before, samples);
  const Tensor matrix = graph.constant({kFrame, 2 * kBins}, forward_matrix());
  graph.output("spectrum", reshape(matmul(concat({before, samples}, 0), matrix), {1, kBins, 1, 2}));
  return graph.finish();
}

Result<Graph> build_synthesis() {
  GraphBuilder graph("synthesis");
  const Tensor spectrum = graph.input("spectrum", DType::kF32, {1, kBins, 1, 2});
  const Tensor rest = graph.variable("rest", {DType::kF32, {kHop}});
  const Tensor matrix = graph.constant({2 * kBins, kFrame}, inverse_matrix());
  const std::vector<Tensor> halves = split_evenly(matmul(reshape(spectrum, {2 * kBins}), matrix), 2, 0);
  graph.output("samples", halves[0] + rest);
  graph.update(rest, halves[1]);
  return graph.finish();
}

}  // namespace denoise
