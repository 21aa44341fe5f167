// SPDX-License-Identifier: Apache-2.0
// Computes which bytes of a value belong to a part of it, such as an operand that is stored in a concat's result.
#include "graph/stream/part_bytes.h"

#include "base/size_expr/is_saturated.h"
#include "base/size_expr/never_negative.h"

namespace millrace {

bool is_part_of(const SizeExpr& size, const ByteRange& range) {
  const SizeExpr after = size - range.offset_bytes - range.length_bytes;
  return range != ByteRange{0, size} && is_never_negative(after) && !is_saturated(after);
}

ByteRange bytes_of(const StoragePart& part, const TensorType& type) {
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(type.dtype));
  std::size_t end = type.shape.rank();
  const auto num_elements_from = [&](std::size_t first) {
    SizeExpr count = 1;
    while (end > first) count = type.shape[--end] * count;
    return count;
  };
  const auto first_dim_of = [&](std::size_t level) { return level == 0 ? 0 : part.rows[level - 1].num_outer_dims; };
  ByteRange bytes{part.offset_elements * element_bytes};
  bytes.length_bytes = num_elements_from(first_dim_of(part.rows.size())) * element_bytes;
  for (std::size_t level = part.rows.size(); level > 0; --level) {
    const SizeExpr pitch = part.rows[level - 1].pitch_elements * element_bytes;
    bytes.rows.insert(bytes.rows.begin(), {pitch, bytes.length_bytes});
    bytes.length_bytes = (num_elements_from(first_dim_of(level - 1)) - 1) * pitch + bytes.length_bytes;
  }
  return bytes;
}

}  // namespace millrace
