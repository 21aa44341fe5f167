// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace millrace::tool {

/// A line of explain's output, with a title in a column of its own.
inline std::string line(int indent, std::string_view what, std::string_view text) {
  return fmt::format("{:{}}{:<10} {}\n", "", indent, what, text);
}

}  // namespace millrace::tool
