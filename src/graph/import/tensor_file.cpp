// SPDX-License-Identifier: Apache-2.0
// The checks of shapes, sizes and bools that all readers of tensor files use.
#include "graph/import/tensor_file.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {

Result<Shape> shape_of(const std::string& where, std::span<const std::uint64_t> dims) {
  if (dims.size() > kMaxRank) {
    return unimplemented(fmt::format("{}: rank {}, expected at most {}", where, dims.size(), kMaxRank));
  }
  constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 48;
  std::uint64_t elements = 1;  // an extent of 0 counts as 1, so that the other extents keep the limit too
  std::vector<SizeExpr> extents;
  for (const std::uint64_t dim : dims) {
    if (__builtin_mul_overflow(elements, std::max<std::uint64_t>(dim, 1), &elements) || elements >= kMaxElements) {
      return data_loss(fmt::format("{}: the shape has more than 2^48 elements", where));
    }
    extents.push_back(static_cast<std::int64_t>(dim));
  }
  return Shape(std::move(extents));
}

Status wrong_file_size(const std::string& where, const TensorType& type, std::string_view found) {
  return data_loss(fmt::format("{}: holds {} of elements, expected {} for {}; is the file complete?", where, found,
                               size_bytes(type).to_text(), type.to_text()));
}

Status check_file_size(const std::string& where, const TensorType& type, std::uint64_t found) {
  if (size_bytes(type).is(static_cast<std::int64_t>(found))) return {};
  return wrong_file_size(where, type, fmt::format("{} bytes", found));
}

bool are_bools(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte <= std::byte{1}; });
}

std::vector<std::byte> to_bools(std::span<const std::byte> bytes) {
  std::vector<std::byte> bools(bytes.size());
  std::ranges::transform(bytes, bools.begin(), [](std::byte byte) { return std::min(byte, std::byte{1}); });
  return bools;
}

}  // namespace millrace
