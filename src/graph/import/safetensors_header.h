// SPDX-License-Identifier: Apache-2.0
// Parses the JSON header of a safetensors file. It only checks that the text is JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// The header's entry for a tensor, or its `__metadata__`. A member is empty if it is missing or of the wrong kind.
struct HeaderEntry {
  bool is_object = false;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape, data_offsets;
};

struct SafetensorsHeader {
  std::map<std::string, HeaderEntry> entries;
  std::optional<std::string> repeated;  // the first duplicate name
};

/// Empty if `text` is not a JSON object. Throws only std::bad_alloc, and frees its memory without allocating.
std::optional<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> text);

}  // namespace millrace
