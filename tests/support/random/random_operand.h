// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tests/support/random/random_composite.h"

// What the composites' rows choose their operands by.

namespace millrace::test {

using Tensors = std::span<const Tensor>;

inline TensorType as_float(const TensorType& x) { return {is_float(x.dtype) ? x.dtype : DType::kF32, x.shape}; }

inline TensorType as_integer(const TensorType& x) { return {is_integer(x.dtype) ? x.dtype : DType::kI32, x.shape}; }

/// With more dims in front until there are `rank`.
inline TensorType with_rank(RandomChoice& random, TensorType x, std::size_t rank) {
  std::vector<SizeExpr> dims = x.shape.dims();
  while (dims.size() < rank) dims.insert(dims.begin(), random.any_extent());
  x.shape = Shape(std::move(dims));
  return x;
}

inline TensorType of_rank(RandomChoice& random, const TensorType& x, std::size_t rank) {
  return x.shape.rank() > rank ? with_rank(random, {x.dtype, {}}, rank) : with_rank(random, x, rank);
}

inline std::size_t random_dim(RandomChoice& random, const TensorType& x) { return random.below(x.shape.rank()); }

/// Composites that move elements or look for them.
std::span<const CompositeRow> moving_composites();
/// Composites that compute.
std::span<const CompositeRow> computing_composites();

}  // namespace millrace::test
