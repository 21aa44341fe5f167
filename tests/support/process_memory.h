// SPDX-License-Identifier: Apache-2.0
// The memory of this process, as the system counts it.
#pragma once

#include <cstdint>
#include <string>

namespace millrace::test {

/// A field of /proc/self/status, in bytes: "VmRSS", "VmHWM".
std::int64_t status_bytes(const std::string& field);

/// Resets the peak memory of the process, which VmHWM shows. Returns false if the system does not allow it.
bool forget_peak();

}  // namespace millrace::test
