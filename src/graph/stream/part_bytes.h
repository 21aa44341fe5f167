// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/dispatch.h"
#include "millrace/graph/schedule.h"

namespace millrace {

/// Whether the range is less than the whole, and inside it for every binding.
bool is_part_of(const SizeExpr& size, const ByteRange& range);

/// The bytes of the whole that belong to the part, which is a value of this type.
ByteRange bytes_of(const StoragePart& part, const TensorType& type);

}  // namespace millrace
