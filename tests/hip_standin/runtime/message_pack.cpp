// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/message_pack.h"

namespace millrace::hip_standin {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view& bytes) : bytes_(bytes) {}

  std::optional<PackedValue> read() {
    const std::uint64_t tag = read_number(1);
    if (is_cut_) return {};
    if (tag < 0x80) return PackedValue{tag};
    if (tag < 0x90) return read_map(tag & 15);
    if (tag < 0xa0) return read_array(tag & 15);
    if (tag < 0xc0) return read_text(tag & 31);
    switch (tag) {
      case 0xc0:
        return PackedValue{};
      case 0xc2:
      case 0xc3:
        return PackedValue{tag == 0xc3};
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return read_unsigned(1u << (tag - 0xcc));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return read_text(read_number(1u << (tag - 0xd9)));
      case 0xdc:
      case 0xdd:
        return read_array(read_number(2u << (tag - 0xdc)));
      case 0xde:
      case 0xdf:
        return read_map(read_number(2u << (tag - 0xde)));
      default:
        return {};
    }
  }

 private:
  /// The most significant byte comes first.
  std::uint64_t read_number(unsigned num_bytes) {
    is_cut_ |= bytes_.size() < num_bytes;
    if (is_cut_) return 0;
    std::uint64_t number = 0;
    for (unsigned i = 0; i < num_bytes; ++i) number = number << 8 | static_cast<unsigned char>(bytes_[i]);
    bytes_.remove_prefix(num_bytes);
    return number;
  }
  std::optional<PackedValue> read_unsigned(unsigned num_bytes) {
    const std::uint64_t number = read_number(num_bytes);
    if (is_cut_) return {};
    return PackedValue{number};
  }
  std::optional<PackedValue> read_text(std::uint64_t num_bytes) {
    if (is_cut_ || bytes_.size() < num_bytes) return {};
    const std::string_view text = bytes_.substr(0, num_bytes);
    bytes_.remove_prefix(num_bytes);
    return PackedValue{text};
  }
  std::optional<PackedValue> read_array(std::uint64_t num_values) {
    PackedValue::Array values;
    for (std::uint64_t i = 0; i < num_values && !is_cut_; ++i) {
      std::optional<PackedValue> value = read();
      if (!value) return {};
      values.push_back(*std::move(value));
    }
    if (is_cut_) return {};
    return PackedValue{std::move(values)};
  }
  std::optional<PackedValue> read_map(std::uint64_t num_values) {
    PackedValue::Map values;
    for (std::uint64_t i = 0; i < num_values && !is_cut_; ++i) {
      const std::optional<PackedValue> key = read();
      if (!key || !std::holds_alternative<std::string_view>(key->value)) return {};
      std::optional<PackedValue> value = read();
      if (!value) return {};
      values.emplace_back(key->text(), *std::move(value));
    }
    if (is_cut_) return {};
    return PackedValue{std::move(values)};
  }

  std::string_view& bytes_;
  bool is_cut_ = false;
};

}  // namespace

const PackedValue* PackedValue::find(std::string_view key) const {
  const auto* map = std::get_if<Map>(&value);
  if (map == nullptr) return nullptr;
  for (const auto& [name, of_name] : *map) {
    if (name == key) return &of_name;
  }
  return nullptr;
}

std::uint64_t PackedValue::number() const {
  const auto* number = std::get_if<std::uint64_t>(&value);
  return number == nullptr ? 0 : *number;
}

std::string_view PackedValue::text() const {
  const auto* text = std::get_if<std::string_view>(&value);
  return text == nullptr ? std::string_view() : *text;
}

const PackedValue::Array& PackedValue::array() const {
  static const Array kNone;
  const auto* array = std::get_if<Array>(&value);
  return array == nullptr ? kNone : *array;
}

std::optional<PackedValue> read_packed(std::string_view& bytes) { return Reader(bytes).read(); }

}  // namespace millrace::hip_standin
