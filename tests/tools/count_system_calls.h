// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace millrace::test {

/// How many system calls the first thread of "millrace <arguments>" makes in `directory`, where it prints nothing. The
/// process is ended if it makes more than `max_calls`. Empty if it fails, or cannot be traced.
std::optional<std::uint64_t> count_system_calls(const std::string& directory, const std::string& arguments,
                                                std::uint64_t max_calls);

}  // namespace millrace::test
