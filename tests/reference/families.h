// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "millrace/ops/op.h"
#include "tests/reference/tensor.h"

namespace millrace::reference {

// One function a family; evaluate() chooses by op.

using Operands = std::span<const Tensor>;

Tensor elementwise(Op, Operands);
Tensor compare(Op, Operands);
Tensor select(Operands);
Tensor bit_cast(DType to, const Tensor&);
Tensor cast(DType to, const Tensor&);

Tensor reduce(Op, const ReduceAttrs&, const Tensor&);
/// argmax and argmin: NaN precedes all other values.
Tensor arg(Op, const ArgAttrs&, const Tensor&);
Tensor dot(const DotAttrs&, Operands, DType result);
Tensor conv2d(const Conv2dAttrs&, Operands, DType result);
Tensor pool2d(Op, const Pool2dAttrs&, const Tensor&);

Tensor reshape(const ShapeAttrs&, const Tensor&);
Tensor transpose(const PermutationAttrs&, const Tensor&);
Tensor broadcast(const BroadcastAttrs&, const Tensor&);
Tensor slice(const SliceAttrs&, const Tensor&);
Tensor pad(const PadAttrs&, const Tensor&);
Tensor concat(const AxisAttrs&, Operands);
/// Throws std::out_of_range for an index outside its axis.
Tensor gather(const GatherAttrs&, Operands);
Tensor take_along_axis(const GatherAttrs&, Operands);
Tensor iota(const IotaAttrs&);
Tensor size(const SizeAttrs&);

/// Each update as it comes, rounded to the dtype. Throws as gather does.
Tensor scatter(Op, const GatherAttrs&, Operands);
Tensor scan(Op, const ScanAttrs&, const Tensor&);

/// Values, indices: the first `k` along the axis.
std::vector<Tensor> order(const Tensor&, std::int64_t axis, bool descending, std::int64_t k);

}  // namespace millrace::reference
