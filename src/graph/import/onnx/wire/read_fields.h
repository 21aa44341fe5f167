// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/status.h"

namespace millrace {

/// How a field's value is encoded, with the numbers that protocol buffers define. Groups (3 and 4) are refused.
enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// "a varint", "8 bytes", "bytes with a length", "4 bytes".
std::string_view to_text(WireType);

struct WireField {
  std::uint32_t number = 0;
  WireType type{};
  std::uint64_t bits = 0;  // the value of a varint, or of a number of 4 or 8 bytes
  std::string_view bytes;  // texts, messages and packed numbers
};

/// Takes the next field from the front of `message`. Precondition: it is not empty. The error is a phrase such as "the
/// message ends inside a varint".
Result<WireField> take_field(std::string_view& message);
/// Takes the next varint of a packed list. Precondition: it is not empty.
Result<std::uint64_t> take_varint(std::string_view& list);

}  // namespace millrace
