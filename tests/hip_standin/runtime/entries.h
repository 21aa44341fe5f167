// SPDX-License-Identifier: Apache-2.0
// The entry points that the stand-in defines: every row of the driver's table.
#pragma once

#include <array>
#include <string_view>

#include "hal/hip/api.h"

namespace millrace::hip {
extern "C" {
#define MILLRACE_HIP(need, result, name, parameters) result name parameters;
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
}
}  // namespace millrace::hip

namespace millrace::hip_standin {

enum class Entry : unsigned {
#define MILLRACE_HIP(need, result, name, parameters) name,
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
};

inline constexpr auto kEntryNames = std::to_array<std::string_view>({
#define MILLRACE_HIP(need, result, name, parameters) #name,
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
});

constexpr std::string_view name_of(Entry entry) { return kEntryNames[static_cast<unsigned>(entry)]; }

}  // namespace millrace::hip_standin
