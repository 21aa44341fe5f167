// SPDX-License-Identifier: Apache-2.0
// Decodes the messages of an ONNX file: each field by its number, in the type that onnx.proto gives it.
#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "graph/import/onnx/decode.h"
#include "graph/import/onnx/wire/read_fields.h"

namespace millrace {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxFileBytes = (std::size_t{1} << 31) - 1;  // the limit of protocol buffers
/// The maximum size of decoded messages and lists, in bytes per byte of the file. A node's attribute takes about 20.
constexpr std::uint64_t kMaxGrowth = 32, kMinRoom = 64 * 1024;

/// How many bytes the decoded messages may still take.
struct Room {
  std::uint64_t file_bytes = 0, left = 0;

  explicit Room(const SharedBytes& file) : file_bytes(file.size()), left(file_bytes * kMaxGrowth + kMinRoom) {}
};

/// Where a message is in the file: a list on the stack, from the inside out.
struct Place {
  const Place* outer = nullptr;
  const char* field = "";
  std::optional<std::size_t> index = {};  // of a repeated field
  int depth = 0;
  Room* room = nullptr;
};

std::string to_text(const Place& place) {
  if (place.outer == nullptr) return place.field;
  const std::string outer = to_text(*place.outer);
  return outer + (place.outer->outer == nullptr ? ": " : ".") + place.field +
         (place.index ? fmt::format("[{}]", *place.index) : "");
}

template <class T>
concept IsMessage = requires { T::kName; };

template <IsMessage Message>
Status decode_message(const Place& place, std::string_view bytes, Message& message);

/// How often each field occurs in a message, by its number. Numbers that no message defines are not counted.
using FieldCounts = std::array<std::uint32_t, 64>;

/// Stops at a malformed field; decoding the message then reports it.
FieldCounts count_fields(std::string_view message) {
  FieldCounts counts{};
  while (!message.empty()) {
    const Result<WireField> field = take_field(message);
    if (!field.ok()) break;
    if (field->number < counts.size()) ++counts[field->number];
  }
  return counts;
}

/// Reads one field into the member that has its number. visit() calls the decoder with each member of a message.
class FieldDecoder {
 public:
  /// `seen` has one bit per field number: whether that field has already occurred in the message.
  FieldDecoder(const Place& place, const WireField& field, const FieldCounts& counts, std::uint64_t& seen)
      : place_(place), field_(field), counts_(counts), seen_(seen) {}

  template <class Member>
  void operator()(std::uint32_t number, const char* name, Member&& member) {
    if (number != field_.number) return;
    is_known_ = true;
    const std::uint64_t bit = std::uint64_t{1} << number;
    is_first_ = (seen_ & bit) == 0;
    seen_ |= bit;
    name_ = name;
    status_ = read(member);
  }

  bool is_known() const { return is_known_; }
  const Status& status() const { return status_; }

 private:
  Status expect(WireType type) const {
    if (field_.type == type) return {};
    return data_loss(fmt::format("{}: field '{}' is {}, expected {}", to_text(place_), name_,
                                 millrace::to_text(field_.type), millrace::to_text(type)));
  }
  /// Reserves room for all elements of a repeated field when it reads the first one, so that the list never grows.
  template <class T>
  Status take_room(std::vector<T>& list) const {
    if (!is_first_) return {};
    MILLRACE_TRY(take_room(std::uint64_t{counts_[field_.number]} * sizeof(T)));
    list.reserve(counts_[field_.number]);
    return {};
  }
  Status take_room(std::uint64_t bytes) const {
    Room& room = *place_.room;
    if (bytes > room.left) {
      return data_loss(
          fmt::format("{}: field '{}': the messages take more than {} times the {} bytes of the file; is "
                      "it an ONNX model?",
                      to_text(place_), name_, kMaxGrowth, room.file_bytes));
    }
    room.left -= bytes;
    return {};
  }
  Status expect_first() const {
    if (is_first_) return {};
    return data_loss(fmt::format("{}: field '{}' occurs twice, expected once", to_text(place_), name_));
  }
  template <class T>
  static constexpr WireType wire_type() {
    if constexpr (std::same_as<T, float>) return WireType::kFixed32;
    if constexpr (std::same_as<T, double>) return WireType::kFixed64;
    if constexpr (std::integral<T>) return WireType::kVarint;
    return WireType::kBytes;
  }

  template <class T>
    requires std::integral<T>
  static T from_bits(std::uint64_t bits) {
    return static_cast<T>(bits);
  }
  template <std::same_as<float> T>
  static T from_bits(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }
  template <std::same_as<double> T>
  static T from_bits(std::uint64_t bits) {
    return std::bit_cast<double>(bits);
  }

  template <class T>
    requires std::is_arithmetic_v<T>
  Status read(T& number) {
    MILLRACE_TRY(expect_first());
    MILLRACE_TRY(expect(wire_type<T>()));
    number = from_bits<T>(field_.bits);
    return {};
  }
  Status read(std::string_view& text) {
    MILLRACE_TRY(expect_first());
    MILLRACE_TRY(expect(WireType::kBytes));
    text = field_.bytes;
    return {};
  }
  template <IsMessage Message>
  Status read(Message& message) {
    MILLRACE_TRY(expect_first());
    return read_message(message, {});
  }
  template <class T>
  Status read(std::optional<T>& value) {
    value.emplace();
    return read(*value);
  }
  template <class T>
  Status read(std::unique_ptr<T>& value) {
    MILLRACE_TRY(take_room(sizeof(T)));
    value = std::make_unique<T>();
    return read(*value);
  }
  Status read(std::vector<std::string_view>& texts) {
    MILLRACE_TRY(expect(WireType::kBytes));
    MILLRACE_TRY(take_room(texts));
    texts.push_back(field_.bytes);
    return {};
  }
  template <IsMessage Message>
  Status read(std::vector<Message>& messages) {
    MILLRACE_TRY(take_room(messages));
    const std::size_t index = messages.size();
    return read_message(messages.emplace_back(), index);
  }
  /// Numbers come one per field, or packed: all of them in one field.
  template <class T>
    requires std::is_arithmetic_v<T>
  Status read(std::vector<T>& numbers) {
    if (field_.type != WireType::kBytes) {
      MILLRACE_TRY(expect(wire_type<T>()));
      MILLRACE_TRY(is_first_ ? take_room(numbers) : take_room(sizeof(T)));  // a packed first field took no room
      numbers.push_back(from_bits<T>(field_.bits));
      return {};
    }
    std::string_view list = field_.bytes;
    if constexpr (std::floating_point<T>) {
      if (list.size() % sizeof(T) != 0) {
        return data_loss(fmt::format("{}: field '{}' has {} bytes, expected a multiple of {}", to_text(place_), name_,
                                     list.size(), sizeof(T)));
      }
      MILLRACE_TRY(take_room(list.size()));
      const std::size_t first = numbers.size();
      numbers.resize(first + list.size() / sizeof(T));
      if (!list.empty()) std::memcpy(numbers.data() + first, list.data(), list.size());
      return {};
    } else {
      // Only in the last byte of each varint, the highest bit is 0.
      const auto count = std::ranges::count_if(list, [](char byte) { return (byte & '\x80') == 0; });
      MILLRACE_TRY(take_room(static_cast<std::uint64_t>(count) * sizeof(T)));
      if (is_first_) numbers.reserve(static_cast<std::size_t>(count));
      while (!list.empty()) {
        Result<std::uint64_t> number = take_varint(list);
        if (!number.ok()) {
          return data_loss(fmt::format("{}: field '{}': {}", to_text(place_), name_, number.status().message()));
        }
        numbers.push_back(from_bits<T>(*number));
      }
      return {};
    }
  }
  template <class T>
  Status read(Ignored<T>&) {
    T value{};
    return read(value);
  }

  template <IsMessage Message>
  Status read_message(Message& message, std::optional<std::size_t> index) {
    MILLRACE_TRY(expect(WireType::kBytes));
    const Place inner{&place_, name_, index, place_.depth + 1, place_.room};
    if (inner.depth > kMaxDepth) {
      return data_loss(
          fmt::format("{}: nested {} levels deep, expected at most {}", to_text(inner), inner.depth, kMaxDepth));
    }
    return decode_message(inner, field_.bytes, message);
  }

  const Place& place_;
  const WireField& field_;
  const FieldCounts& counts_;
  std::uint64_t& seen_;
  bool is_known_ = false, is_first_ = false;
  const char* name_ = "";
  Status status_;
};

template <IsMessage Message>
Status decode_message(const Place& place, std::string_view bytes, Message& message) {
  const FieldCounts counts = count_fields(bytes);
  std::uint64_t seen = 0;
  while (!bytes.empty()) {
    const Result<WireField> field = take_field(bytes);
    if (!field.ok()) {
      return data_loss(fmt::format("{}: {}: {}; is it a complete ONNX file?", to_text(place), Message::kName,
                                   field.status().message()));
    }
    FieldDecoder decoder(place, *field, counts, seen);
    message.visit(decoder);
    MILLRACE_TRY(decoder.status());
    if (!decoder.is_known()) {
      return data_loss(
          fmt::format("{}: {} has no field {} in onnx 1.23; is it an ONNX file, perhaps of a later version?",
                      to_text(place), Message::kName, field->number));
    }
  }
  return {};
}

std::string_view text_of(const SharedBytes& file) { return {reinterpret_cast<const char*>(file.data()), file.size()}; }

}  // namespace

bool can_decode_onnx() { return true; }

Result<std::shared_ptr<const ModelProto>> decode_model(const std::string& where, SharedBytes file) {
  if (file.size() > kMaxFileBytes) {
    return data_loss(fmt::format("{}: has {} bytes, expected less than 2 GiB; keep the weights as external data", where,
                                 file.size()));
  }
  const auto model = std::make_shared<ModelProto>();
  Room room(file);
  MILLRACE_TRY(decode_message(Place{.field = where.c_str(), .room = &room}, text_of(file), *model));
  model->file = std::move(file);
  return std::shared_ptr<const ModelProto>(model);
}

Result<TensorProto> decode_tensor(const std::string& where, const SharedBytes& file) {
  TensorProto tensor;
  Room room(file);
  MILLRACE_TRY(decode_message(Place{.field = where.c_str(), .room = &room}, text_of(file), tensor));
  return tensor;
}

}  // namespace millrace
