// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/shape.h"
#include "millrace/base/status.h"

namespace millrace {

/// The shape that a file gives. Fails above kMaxRank dims, or at 2^48 elements. `where` begins the message.
Result<Shape> shape_of(const std::string& where, std::span<const std::uint64_t> dims);

/// The error for a file that holds `found`, such as "3 bytes", instead of the bytes that the type needs.
Status wrong_file_size(const std::string& where, const TensorType&, std::string_view found);
/// Checks that a file holds exactly the bytes of the type.
Status check_file_size(const std::string& where, const TensorType&, std::uint64_t found);

/// Whether every byte is a valid bool, 0 or 1.
bool are_bools(std::span<const std::byte> bytes);
/// Converts every nonzero byte to 1.
std::vector<std::byte> to_bools(std::span<const std::byte> bytes);

}  // namespace millrace
