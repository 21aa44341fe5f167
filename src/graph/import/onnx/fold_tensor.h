// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/graph/builder.h"
#include "millrace/graph/onnx.h"

namespace millrace {

/// What folding the tensors of one model shares.
class OnnxFolding {
 public:
  explicit OnnxFolding(std::uint64_t room) : element_room(room) {}
  /// Elements that may still be computed while importing, or written in full for sparse tensors.
  std::uint64_t element_room;

  /// Whether the node was found to depend on more than constants that can be folded.
  bool is_unfoldable(NodeId id) const { return index_of(id) < unfoldable_.size() && unfoldable_[index_of(id)]; }
  void mark_unfoldable(NodeId id) {
    if (index_of(id) >= unfoldable_.size()) unfoldable_.resize(index_of(id) + 1);
    unfoldable_[index_of(id)] = true;
  }

 private:
  std::vector<bool> unfoldable_;  // by node of the builder
};

/// The elements of a tensor that is computed from a few small constants; otherwise empty. Each element that is computed
/// on the way is subtracted from the room for elements; empty if they are more than that.
Result<std::optional<OnnxConstant>> fold_tensor(const Tensor& tensor, OnnxFolding& folding);

}  // namespace millrace
