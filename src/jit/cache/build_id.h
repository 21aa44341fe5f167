// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace millrace {

/// Identifies the sources of base, hal and jit, the compiler and its flags, by a SHA-256 that the build computes
/// (cmake/build_id.cmake). Two builds with the same id generate the same code for a kernel and have the same struct
/// layouts.
std::string_view build_id();

}  // namespace millrace
