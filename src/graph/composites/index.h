// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/composites/composite.h"

namespace millrace {

/// The i64 index along dim `axis` of each element of `shape`.
Tensor positions(GraphBuilder& graph, const Shape& shape, std::size_t axis);

/// `index` where `is_inside` holds, elsewhere `extent`: a gather along an axis of that extent reports it as out of
/// range.
Tensor or_outside(Tensor is_inside, Tensor index, const SizeExpr& extent);

/// Scatters along one axis, and combines elements and updates as `reduction` says.
Tensor scatter_by(ScatterReduction reduction, Tensor x, Tensor indices, Tensor updates, std::int64_t axis);

}  // namespace millrace
