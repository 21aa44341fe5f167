// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/shape.h"
#include "millrace/base/status.h"

namespace millrace {

/// The shape that a file states. Fails beyond kMaxRank dims or 2^48 elements; `where` begins the message.
Result<Shape> shape_of(const std::string& where, std::span<const std::uint64_t> dims);

/// Whether each byte of a file's bools is 0 or 1.
bool are_bools(std::span<const std::byte> bytes);
/// 1 for every byte except 0, since files have no other bools.
std::vector<std::byte> to_bools(std::span<const std::byte> bytes);

}  // namespace millrace
