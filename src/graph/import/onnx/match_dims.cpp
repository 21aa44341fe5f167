// SPDX-License-Identifier: Apache-2.0
// Combines tensors whose dims are different symbols: each run then checks that the dims are equal.
#include <algorithm>

#include <fmt/format.h>

#include "graph/import/onnx/node_context.h"
#include "millrace/graph/functions.h"

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

Status OnnxNodeContext::match_dims(std::initializer_list<Tensor*> tensors) {
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
