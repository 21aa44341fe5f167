// SPDX-License-Identifier: Apache-2.0
// Composites that compare positions: one_hot, hardmax and trilu compare an iota with an index or a limit.
#include <algorithm>

#include "graph/composites/axes.h"
#include "graph/composites/composite.h"
#include "graph/composites/index.h"

namespace millrace {
Tensor one_hot(Tensor indices, SizeExpr depth, DType dtype) {
  return build_composite({indices}, [&](Composite& composite) -> Tensor {
    GraphBuilder& graph = *indices.builder();
    if (!is_integer(indices.dtype())) {
      return composite.refuse(fmt::format("indices are {}, expected integers; cast them", indices.type().to_text()));
    }
    if (depth.upper_bound() < 0) {
      return composite.refuse(fmt::format("depth is {}, expected 0 or more; raise it", depth.to_text()));
    }
    indices = cast(indices, DType::kI64);  // in a narrow dtype, counting up to the depth would wrap
    std::vector<SizeExpr> dims = indices.shape().dims();
    std::vector<std::int64_t> kept;
    for (std::size_t d = 0; d < dims.size(); ++d) kept.push_back(static_cast<std::int64_t>(d));
    dims.push_back(std::move(depth));
    const Shape shape(std::move(dims));
    if (!composite.passes(expect_within_limits({dtype, shape}))) return {};
    Tensor counts = positions(graph, shape, shape.rank() - 1);
    return cast(equal(broadcast(indices, shape, std::move(kept)), counts), dtype);
  });
}

Tensor hardmax(Tensor x, std::int64_t axis) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    const std::optional<std::size_t> dim = find_axis(composite, x, axis);
    if (!dim) return {};
    Tensor first = argmax(x, axis, true);
    if (!first.is_valid()) return {};
    Tensor spread = broadcast_to(first, x.shape());
    return cast(equal(positions(*x.builder(), x.shape(), *dim), spread), x.dtype());
  });
}

Tensor trilu(Tensor x, bool upper, std::int64_t diagonal) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    GraphBuilder& graph = *x.builder();
    const Shape shape = x.shape();
    const std::size_t rank = shape.rank();
    if (rank < 2) {
      return composite.refuse(fmt::format("operand is {}, expected rank 2 or more; reshape it", x.type().to_text()));
    }
    Tensor row = positions(graph, shape, rank - 2), column = positions(graph, shape, rank - 1);
    // Clamping prevents overflow. All diagonals that are farther out on one side give the same result.
    constexpr std::int64_t kFar = std::int64_t{1} << 49;
    Tensor edge = row + std::clamp(diagonal, -kFar, kFar);
    Tensor is_kept = upper ? greater_equal(column, edge) : less_equal(column, edge);
    return select(is_kept, x, graph.fill(x.dtype(), shape, 0));
  });
}

}  // namespace millrace
