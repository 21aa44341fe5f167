// SPDX-License-Identifier: Apache-2.0
// The JSON that a safetensors file begins with, as it stands: nothing is judged but that it is JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// What the header says of a tensor, or its `__metadata__`. A member is empty where there is none, or it is of another
/// kind.
struct HeaderEntry {
  bool is_object = false;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape, data_offsets;
};

struct SafetensorsHeader {
  std::map<std::string, HeaderEntry> entries;
  std::optional<std::string> repeated;  // the first name that stands twice
};

/// Empty where `text` is no JSON object. Throws std::bad_alloc alone, and needs no memory to give back what it took.
std::optional<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> text);

}  // namespace millrace
