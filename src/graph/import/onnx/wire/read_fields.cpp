// SPDX-License-Identifier: Apache-2.0
// Reads the fields of protocol buffers with protozero. Tags and lengths are read in full: protozero's own reader drops
// all bits above the lowest 32.
#include "graph/import/onnx/wire/read_fields.h"

#include <cstring>
#include <protozero/exception.hpp>
#include <protozero/types.hpp>
#include <protozero/varint.hpp>

#include <fmt/format.h>

namespace millrace {
namespace {

/// The largest field number of protocol buffers.
constexpr std::uint64_t kMaxNumber = (std::uint64_t{1} << 29) - 1;

Result<std::uint64_t> take_fixed(std::string_view& message, std::size_t size) {
  if (message.size() < size)
    return data_loss(fmt::format("{} bytes are left, expected a number of {} bytes", message.size(), size));
  std::uint64_t bits = 0;
  std::memcpy(&bits, message.data(), size);
  message.remove_prefix(size);
  return bits;
}

Result<std::string_view> take_bytes(std::string_view& message) {
  MILLRACE_TRY_ASSIGN(const std::uint64_t length, take_varint(message));
  if (length > message.size()) {
    return data_loss(fmt::format("found a length of {} bytes, but {} are left", length, message.size()));
  }
  const std::string_view bytes = message.substr(0, length);
  message.remove_prefix(length);
  return bytes;
}

}  // namespace

std::string_view to_text(WireType type) {
  switch (type) {
    case WireType::kVarint:
      return "a varint";
    case WireType::kFixed64:
      return "8 bytes";
    case WireType::kBytes:
      return "bytes with a length";
    case WireType::kFixed32:
      return "4 bytes";
  }
  return "unknown";
}

Result<std::uint64_t> take_varint(std::string_view& list) {
  const char* at = list.data();
  try {
    const std::uint64_t value = protozero::decode_varint(&at, list.data() + list.size());
    list.remove_prefix(static_cast<std::size_t>(at - list.data()));
    return value;
  } catch (const protozero::end_of_buffer_exception&) {
    return data_loss("the message ends inside a varint");
  } catch (const protozero::varint_too_long_exception&) {
    return data_loss("a varint has more than 10 bytes");
  }
}

Result<WireField> take_field(std::string_view& message) {
  MILLRACE_TRY_ASSIGN(const std::uint64_t tag, take_varint(message));
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number > kMaxNumber) return data_loss(fmt::format("found the field number {}", number));
  WireField field{static_cast<std::uint32_t>(number), static_cast<WireType>(tag & 7), 0, {}};
  switch (static_cast<protozero::pbf_wire_type>(tag & 7)) {
    case protozero::pbf_wire_type::varint: {
      MILLRACE_TRY_ASSIGN(field.bits, take_varint(message));
      return field;
    }
    case protozero::pbf_wire_type::fixed64: {
      MILLRACE_TRY_ASSIGN(field.bits, take_fixed(message, 8));
      return field;
    }
    case protozero::pbf_wire_type::fixed32: {
      MILLRACE_TRY_ASSIGN(field.bits, take_fixed(message, 4));
      return field;
    }
    case protozero::pbf_wire_type::length_delimited: {
      MILLRACE_TRY_ASSIGN(field.bytes, take_bytes(message));
      return field;
    }
    default:
      return data_loss(fmt::format("field {} has wire type {}, expected 0, 1, 2 or 5", number, tag & 7));
  }
}

}  // namespace millrace
