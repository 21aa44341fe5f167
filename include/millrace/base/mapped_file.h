// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "millrace/base/shared_bytes.h"

namespace millrace {

/// A file in memory, with the path that it was read from.
struct MappedFile {
  std::string path;
  SharedBytes bytes;

  /// Where bytes that refer to this memory begin in the file; empty for other bytes.
  std::optional<std::size_t> offset_of(const SharedBytes& part) const {
    const auto first = reinterpret_cast<std::uintptr_t>(bytes.data());
    const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
    if (part.empty() || begin < first || begin - first > bytes.size()) return {};
    return part.size() <= bytes.size() - (begin - first) ? std::optional(begin - first) : std::nullopt;
  }
};

}  // namespace millrace
