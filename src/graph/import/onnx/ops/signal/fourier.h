// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/graph/builder.h"

namespace millrace {

struct FourierTransform {
  std::int64_t axis = 0;
  SizeExpr length;  // of the signal, which is cut or padded with zeros
  bool is_inverse = false;
  /// Forward: only the first length / 2 + 1 frequencies. Inverse: x has only those, and the result is real.
  bool is_onesided = false;
};

/// x[..., 1 or 2] holds real or complex numbers in the last dim, which must not be the axis. The last dim of the result
/// is 2, or 1 for a onesided inverse. One product with a matrix of sines and cosines, O(length^2).
Tensor fourier_transform(Tensor x, const FourierTransform& transform);

}  // namespace millrace
