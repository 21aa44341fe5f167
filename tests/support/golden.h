// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace millrace::test {

/// The first difference between `text` and the file golden/<name> next to the calling test; empty if they are equal.
/// With MILLRACE_UPDATE_GOLDEN=1 in the environment, writes the file instead. An absolute `name` is used as it is.
[[nodiscard]] std::string golden_problem(std::string_view name, std::string_view text,
                                         const std::source_location& test = std::source_location::current());

}  // namespace millrace::test
