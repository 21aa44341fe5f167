// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/hip/api.h"

namespace millrace::hip {

/// HIP's entry points as an application calls them; null for those that the library does not export.
struct Calls {
#define MILLRACE_HIP(need, result, name, parameters) result(*name) parameters = nullptr;
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
};

/// The calls of the library at `path`. Aborts if it cannot be opened.
Calls open_calls(const char* path);

}  // namespace millrace::hip
