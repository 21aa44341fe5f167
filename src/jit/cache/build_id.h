// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace millrace {

/// Names the sources of base, hal and jit, the compiler and its flags, as a SHA-256 that the build computes
/// (cmake/build_id.cmake). Two builds with one id make the same code from a kernel and lay out the same structs.
std::string_view build_id();

}  // namespace millrace
