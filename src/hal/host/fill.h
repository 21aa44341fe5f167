// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace {

/// Fills `destination` with copies of the low `pattern_bytes` (1, 2, 4 or 8) bytes of `pattern`, low byte first.
/// `destination` may have any alignment, and may be null if size_bytes is 0. Precondition: size_bytes is a multiple of
/// pattern_bytes.
void fill_memory(void* destination, std::size_t size_bytes, std::uint64_t pattern, std::uint32_t pattern_bytes);

}  // namespace millrace
