// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::peers {

/// Softmax of each row of a row-major matrix, with Eigen's vector exp.
void eigen_softmax(const float* x, float* y, std::int64_t rows, std::int64_t columns);

}  // namespace millrace::peers
