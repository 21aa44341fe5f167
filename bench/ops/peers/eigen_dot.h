// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::peers {

/// C[m, n] = A[m, k] * B[k, n], all row-major, by Eigen compiled for the machine that builds it.
void eigen_dot(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace millrace::peers
