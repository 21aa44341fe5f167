// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "millrace/graph/npy.h"

namespace millrace::tool {

/// For people: the type, then up to 32 elements in their rows, or a summary if there are more.
///
///     values: f32[2x2]
///       [[3.5, 3],
///        [2, 1.5]]
std::string describe_array(std::string_view name, const NpyArray&);

}  // namespace millrace::tool
