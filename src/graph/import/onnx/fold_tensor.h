// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/graph/builder.h"
#include "millrace/graph/onnx.h"

namespace millrace {

/// The state that all calls of fold_tensor() for one model share.
class OnnxFolding {
 public:
  explicit OnnxFolding(std::uint64_t room) : element_room(room) {}
  /// Elements that may still be computed while importing, or written in full for sparse tensors.
  std::uint64_t element_room;

  /// Whether an earlier call found that the node cannot be folded.
  bool is_unfoldable(NodeId id) const { return index_of(id) < unfoldable_.size() && unfoldable_[index_of(id)]; }
  void mark_unfoldable(NodeId id) {
    if (index_of(id) >= unfoldable_.size()) unfoldable_.resize(index_of(id) + 1);
    unfoldable_[index_of(id)] = true;
  }

 private:
  std::vector<bool> unfoldable_;  // by node of the builder
};

/// The elements of a tensor that is computed from a few small constants; empty for other tensors. Subtracts every
/// element that it computes on the way from element_room; empty if the room is too small.
Result<std::optional<OnnxConstant>> fold_tensor(const Tensor& tensor, OnnxFolding& folding);

}  // namespace millrace
