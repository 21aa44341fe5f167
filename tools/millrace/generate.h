// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/base/dtype.h"
#include "millrace/base/shared_bytes.h"

namespace millrace::tool {

/// randn: normal, mean 0, deviation 1, rounded to the dtype (for bool, the sign). arange: 0, 1, 2, ..., as in NumPy.
inline constexpr std::string_view kElementKinds[] = {"zeros", "ones", "randn", "arange"};

/// Elements of the kind, in newly allocated memory. Precondition: `kind` is in kElementKinds. Throws std::bad_alloc.
SharedBytes generate_elements(std::string_view kind, DType, std::uint64_t seed, std::size_t size_bytes);

}  // namespace millrace::tool
