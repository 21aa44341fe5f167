// SPDX-License-Identifier: Apache-2.0
#include "bench/ops/peers/eigen_dot.h"

#include <Eigen/Core>

namespace millrace::peers {

void eigen_dot(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Matrix>(c, m, n).noalias() = Eigen::Map<const Matrix>(a, m, k) * Eigen::Map<const Matrix>(b, k, n);
}

}  // namespace millrace::peers
