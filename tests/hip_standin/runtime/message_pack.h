// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace::hip_standin {

/// A value of MessagePack, except floats, binary data and extensions, which code objects do not have.
struct PackedValue {
  using Array = std::vector<PackedValue>;
  using Map = std::vector<std::pair<std::string_view, PackedValue>>;
  std::variant<std::monostate, bool, std::uint64_t, std::string_view, Array, Map> value = {};

  /// Null if this is not a map, or has no such key.
  const PackedValue* find(std::string_view key) const;
  std::uint64_t number() const;   // 0 if it is not a number
  std::string_view text() const;  // "" if it is not text
  const Array& array() const;     // empty if it is not an array
};

/// Reads one value from the front of `bytes`, which the value's texts point into. Nothing if it is malformed.
/// Source: the MessagePack specification.
std::optional<PackedValue> read_packed(std::string_view& bytes);

}  // namespace millrace::hip_standin
