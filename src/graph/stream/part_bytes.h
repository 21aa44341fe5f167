// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/dispatch.h"
#include "millrace/graph/schedule.h"

namespace millrace {

/// Whether the range differs from the whole value of `size` bytes, and is inside it for every binding.
bool is_part_of(const SizeExpr& size, const ByteRange& range);

/// The bytes that the part, a value of type `type`, occupies in the value that contains it.
ByteRange bytes_of(const StoragePart& part, const TensorType& type);

}  // namespace millrace
