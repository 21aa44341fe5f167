// SPDX-License-Identifier: Apache-2.0
#include "bench/ops/peers/eigen_softmax.h"

#include <Eigen/Core>

namespace millrace::peers {

void eigen_softmax(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  using Matrix = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> from(x, rows, columns);
  Eigen::Map<Matrix> to(y, rows, columns);
  for (Eigen::Index row = 0; row < rows; ++row) {
    to.row(row) = (from.row(row) - from.row(row).maxCoeff()).exp();
    to.row(row) *= 1 / to.row(row).sum();
  }
}

}  // namespace millrace::peers
