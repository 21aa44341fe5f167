// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/graph/builder.h"

namespace millrace {

/// For each sample, one of the points along an axis that contribute to it. Both tensors have one element per sample.
struct OnnxTap {
  Tensor index;   // i64, inside the axis
  Tensor weight;  // a float
};

/// The two neighbours of each position along an axis, by linear interpolation. A neighbour outside has weight 0.
std::vector<OnnxTap> linear_taps(Tensor position, const SizeExpr& extent);

/// Samples x[n, c, ...] at points of its spatial dims: taps[d] are those along dim 2 + d, of shape [n, points] or [n,
/// groups, points]; groups divide the channels. The result is [n, c, points], the sum over all combinations of taps.
Tensor sample(Tensor x, const std::vector<std::vector<OnnxTap>>& taps);

}  // namespace millrace
