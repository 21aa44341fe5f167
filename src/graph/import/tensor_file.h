// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "millrace/base/shape.h"
#include "millrace/base/status.h"

namespace millrace {

/// The shape that a file states. Fails beyond kMaxRank dims or 2^48 elements; `where` begins the message.
Result<Shape> shape_of(const std::string& where, std::span<const std::uint64_t> dims);

}  // namespace millrace
