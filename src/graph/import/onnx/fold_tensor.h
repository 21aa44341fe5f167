// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "millrace/graph/builder.h"
#include "millrace/graph/onnx.h"

namespace millrace {

/// The elements of a tensor that is computed from a few small constants; otherwise empty. Each element that is computed
/// on the way is subtracted from `element_room`; empty if they are more than that.
Result<std::optional<OnnxConstant>> fold_tensor(const Tensor& tensor, std::uint64_t& element_room);

}  // namespace millrace
