// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/base/dtype.h"

namespace millrace::tool {

/// randn: normal, mean 0, deviation 1, rounded to the dtype (of bool, the sign). arange: 0, 1, 2, ..., as NumPy's.
inline constexpr std::string_view kElementKinds[] = {"zeros", "ones", "randn", "arange"};

/// Fills `bytes` with elements of the kind. Precondition: one of kElementKinds; whole elements.
void generate_elements(std::string_view kind, DType, std::uint64_t seed, std::span<std::byte> bytes);

}  // namespace millrace::tool
