// SPDX-License-Identifier: Apache-2.0
// Combines tensors whose dims are different symbols: each run then checks that the dims are equal, or that one is 1.
#include <algorithm>

#include <fmt/format.h>

#include "graph/import/onnx/node_context.h"
#include "millrace/graph/composites.h"

namespace millrace {

Status OnnxNodeContext::match_dim(Tensor& tensor, std::size_t axis, const SizeExpr& size) {
  std::vector<SizeExpr> dims = tensor.shape().dims();
  if (dims[axis] == size || decide_equal(dims[axis], size) == false) return {};  // the op refuses what differs
  std::string note = fmt::format("{}: {} and {} must be equal", path(), dims[axis].to_text(), size.to_text());
  dims[axis] = size;
  MILLRACE_TRY_ASSIGN(tensor, built(reshape(tensor, Shape(std::move(dims)))));
  import_.notes.push_back(std::move(note));
  return {};
}

namespace {

/// Whether the shape has that size in a dim other than `axis`.
bool has_elsewhere(const Shape& shape, std::size_t axis, const SizeExpr& size) {
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d != axis && shape[d] == size) return true;
  }
  return false;
}

}  // namespace

Status OnnxNodeContext::spread_dim(Tensor& tensor, std::size_t axis, const SizeExpr& size) {
  std::vector<SizeExpr> dims = tensor.shape().dims();
  const SizeExpr extent = dims[axis];
  std::string note = fmt::format("{}: {} must be 1 or {}", path(), extent.to_text(), size.to_text());
  // An extent of 1 gives the indices 0, 0, ...; any other gives 0, 1, .... If that extent is less than the size, the
  // last index is out of range and the gather fails. If it is more, the reshape fails.
  const Tensor step = cast(not_equal(size_of(graph(), extent), 1), DType::kI64);
  const Tensor index = iota(graph(), DType::kI64, {max(extent, size)}, 0) * step;
  MILLRACE_TRY_ASSIGN(const Tensor spread, built(gather(tensor, index, static_cast<std::int64_t>(axis))));
  dims[axis] = size;
  MILLRACE_TRY_ASSIGN(tensor, built(reshape(spread, Shape(std::move(dims)))));
  import_.notes.push_back(std::move(note));
  return {};
}

Status OnnxNodeContext::spread_dims(Tensor& part, const Tensor& whole) {
  const std::size_t rank = std::min(part.shape().rank(), whole.shape().rank());
  for (std::size_t from_last = 1; from_last <= rank; ++from_last) {
    const std::size_t axis = part.shape().rank() - from_last, at = whole.shape().rank() - from_last;
    const SizeExpr size = whole.shape()[at], extent = part.shape()[axis];
    const bool can_be_one = !extent.is_constant() && !size.is(1) && !decide_equal(extent, size);
    if (can_be_one && has_elsewhere(whole.shape(), at, extent)) MILLRACE_TRY(spread_dim(part, axis, size));
  }
  return {};
}

Status OnnxNodeContext::match_dims(std::initializer_list<Tensor*> tensors) {
  for (Tensor* part : tensors) {
    for (const Tensor* whole : tensors) MILLRACE_TRY(spread_dims(*part, *whole));
  }
  std::size_t rank = 0;
  for (const Tensor* tensor : tensors) rank = std::max(rank, tensor->shape().rank());
  std::vector<SizeExpr> joint(rank, SizeExpr(1));
  bool are_alike = true;
  for (const Tensor* tensor : tensors) {
    for (std::size_t d = 0; d < tensor->shape().rank(); ++d) {
      const SizeExpr& found = tensor->shape()[d];
      SizeExpr& dim = joint[rank - tensor->shape().rank() + d];
      if (found.is(1) || found == dim) continue;
      are_alike = are_alike && dim.is(1);
      if (dim.is(1) || found.is_constant()) dim = found;
    }
  }
  if (are_alike) return {};
  for (Tensor* tensor : tensors) {
    for (std::size_t d = 0; d < tensor->shape().rank(); ++d) {
      if (tensor->shape()[d].is(1)) continue;
      MILLRACE_TRY(match_dim(*tensor, d, joint[rank - tensor->shape().rank() + d]));
    }
  }
  return {};
}

}  // namespace millrace
