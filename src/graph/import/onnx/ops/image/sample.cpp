// SPDX-License-Identifier: Apache-2.0
// Samples images at computed points, as sums of weighted elements.
#include "graph/import/onnx/ops/image/sample.h"

#include "millrace/graph/composites.h"

namespace millrace {

std::vector<OnnxTap> linear_taps(Tensor position, const SizeExpr& extent) {
  GraphBuilder& graph = *position.builder();
  const DType dtype = position.dtype();
  const Tensor last = cast(size_of(graph, extent - 1), dtype);
  // Positions further out have no neighbours inside, and their indices would overflow.
  const Tensor near = max(min(position, last + 1.0), -1);
  const Tensor below = floor(near), share = near - below;
  const auto tap = [&](Tensor place, Tensor weight) {
    const Tensor is_inside = logical_and(greater_equal(place, 0), less_equal(place, last));
    return OnnxTap{cast(max(min(place, last), 0), DType::kI64), where(is_inside, weight, 0)};
  };
  return {tap(below, 1.0 - share), tap(below + 1.0, share)};
}

namespace {

/// The index and the weight over all spatial dims, for one combination of taps.
OnnxTap combine(const std::vector<std::vector<OnnxTap>>& taps, std::size_t combination, const Shape& x) {
  OnnxTap all;
  for (std::size_t d = 0; d < taps.size(); ++d) {
    const OnnxTap& tap = taps[d][combination % taps[d].size()];
    combination /= taps[d].size();
    if (d == 0) {
      all = tap;
      continue;
    }
    all.index = all.index * size_of(*tap.index.builder(), x[2 + d]) + tap.index;
    all.weight = all.weight * tap.weight;
  }
  return all;
}

}  // namespace

Tensor sample(Tensor x, const std::vector<std::vector<OnnxTap>>& taps) {
  const Shape from = x.shape();
  const Shape points = taps[0][0].index.shape();
  if (!taps[0][0].index.is_valid()) return {};
  const bool has_groups = points.rank() == 3;
  const SizeExpr groups = has_groups ? points[1] : SizeExpr(1), count = points[points.rank() - 1];
  const SizeExpr channels = groups.is_constant() && groups.constant() > 0 ? floor_div(from[1], groups) : from[1];
  SizeExpr extent = 1;
  std::size_t num_combinations = 1;
  for (std::size_t d = 0; d < taps.size(); ++d) {
    extent = extent * from[2 + d];
    num_combinations *= taps[d].size();
  }
  const Tensor flat = reshape(x, {from[0], groups, channels, extent});
  const Shape wide({from[0], groups, channels, count});
  Tensor sum;
  for (std::size_t i = 0; i < num_combinations; ++i) {
    const OnnxTap tap = combine(taps, i, from);
    const auto spread = [&](Tensor tensor) {
      return broadcast_to(reshape(tensor, {points[0], groups, 1, count}), wide);
    };
    // A point of weight 0 does not count, even if it is inf or NaN.
    const Tensor weight = spread(cast(tap.weight, x.dtype()));
    const Tensor elements = take_along_axis(flat, spread(tap.index), 3);
    const Tensor part = where(equal(weight, 0), 0, elements * weight);
    sum = i == 0 ? part : sum + part;
  }
  return reshape(sum, {from[0], from[1], count});
}

}  // namespace millrace
