// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/import/onnx/hostile/mutate_model.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace millrace {
namespace {

constexpr std::string_view kOps[] = {
#define MILLRACE_ONNX_OP(name, since_version, function) #name,
#define MILLRACE_ONNX_UNARY MILLRACE_ONNX_OP
#define MILLRACE_ONNX_BINARY MILLRACE_ONNX_OP
#include "graph/import/onnx/onnx_ops.inc"
};

constexpr std::uint64_t kMaxSigned = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kNumbers[] = {0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      7,
                                      8,
                                      16,
                                      18,
                                      64,
                                      255,
                                      65'536,
                                      0x7FFFFFFF,
                                      0x80000000,
                                      1u << 24,
                                      kMaxSigned,
                                      kMaxSigned + 1,
                                      ~std::uint64_t{0},
                                      ~std::uint64_t{1}};

/// A field of a protocol buffer. What reads as fields of its own is taken for a message.
struct Field {
  std::uint64_t number = 0;
  unsigned type = 0;       // the wire type
  std::uint64_t bits = 0;  // of a number
  std::string bytes;       // of a text or of packed numbers
  bool is_message = false;
  std::vector<Field> inner;             // of a message
  std::optional<std::uint64_t> length;  // in place of the real one
};

using Fields = std::vector<Field>;

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte >= 0x80) continue;
    bytes.remove_prefix(i + 1);
    return value;
  }
  return {};
}

void put_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

/// Empty if the bytes are not fields from the first to the last.
std::optional<Fields> parse(std::string_view bytes, int depth = 0) {
  constexpr int kMaxDepth = 24;
  Fields fields;
  while (!bytes.empty()) {
    const std::optional<std::uint64_t> tag = take_varint(bytes);
    if (!tag || *tag >> 3 == 0) return {};
    Field field;
    field.number = *tag >> 3;
    field.type = static_cast<unsigned>(*tag & 7);
    if (field.type == 0) {
      const std::optional<std::uint64_t> value = take_varint(bytes);
      if (!value) return {};
      field.bits = *value;
    } else if (field.type == 1 || field.type == 5) {
      const std::size_t size = field.type == 1 ? 8 : 4;
      if (bytes.size() < size) return {};
      for (std::size_t i = 0; i < size; ++i)
        field.bits |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
      bytes.remove_prefix(size);
    } else if (field.type == 2) {
      const std::optional<std::uint64_t> length = take_varint(bytes);
      if (!length || *length > bytes.size()) return {};
      field.bytes = bytes.substr(0, *length);
      bytes.remove_prefix(*length);
      std::optional<Fields> inner = depth < kMaxDepth ? parse(field.bytes, depth + 1) : std::nullopt;
      field.is_message = inner.has_value() && !inner->empty();
      if (field.is_message) field.inner = *std::move(inner);
    } else {
      return {};
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string encode(const Fields& fields) {
  std::string bytes;
  for (const Field& field : fields) {
    put_varint(bytes, field.number << 3 | field.type);
    if (field.type == 0) {
      put_varint(bytes, field.bits);
    } else if (field.type == 1 || field.type == 5) {
      for (std::size_t i = 0; i < (field.type == 1 ? 8 : 4); ++i) bytes += static_cast<char>(field.bits >> (8 * i));
    } else {
      const std::string own = field.is_message ? encode(field.inner) : field.bytes;
      put_varint(bytes, field.length.value_or(own.size()));
      bytes += own;
    }
  }
  return bytes;
}

/// Adds each list of fields, from the outside in.
void collect(Fields& fields, std::vector<Fields*>& lists) {
  lists.push_back(&fields);
  for (Field& field : fields) {
    if (field.is_message) collect(field.inner, lists);
  }
}

class Mutator {
 public:
  Mutator(Fields& model, Fields& donor, std::mt19937& random) : random_(random) {
    collect(model, lists_);
    collect(donor, donors_);
  }

  void change() {
    Fields& list = any_list(lists_);
    if (list.empty()) return insert(list);
    Field& field = list[below(list.size())];
    switch (below(10)) {
      case 0:
        list.erase(list.begin() + (&field - list.data()));
        return;
      case 1:
        std::swap(field, list[below(list.size())]);
        return;
      case 2:
        return insert(list);
      case 3:
        field.number = below(4) == 0 ? kNumbers[below(std::size(kNumbers))] : 1 + below(26);
        return;
      case 4:
        field.type = static_cast<unsigned>(below(8));
        return;
      case 5:
        field.length = below(2) == 0 ? kNumbers[below(std::size(kNumbers))] : below(64);
        return;
      case 6:
        return replace(field);
      default:
        return field.type == 2 && !field.is_message ? change_text(field) : change_number(list);
    }
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  Fields& any_list(const std::vector<Fields*>& lists) { return *lists[below(lists.size())]; }

  /// A field of the donor; null if the one that was drawn has none.
  const Field* any_donor() {
    const Fields& list = any_list(donors_);
    return list.empty() ? nullptr : &list[below(list.size())];
  }

  void insert(Fields& list) {
    const Field* donor = any_donor();
    if (donor == nullptr) return;
    const Field copy = *donor;  // the list may be the donor's own
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(list.size() + 1)), copy);
  }

  /// Puts a field of the donor in the place of this one, with the same number where one is found.
  void replace(Field& field) {
    for (int trial = 0; trial < 16; ++trial) {
      const Field* donor = any_donor();
      if (donor == nullptr || (donor->number != field.number && trial < 15)) continue;
      Field copy = *donor;
      copy.number = field.number;
      field = std::move(copy);
      return;
    }
  }

  /// A number anywhere in the message. Small ones stay likely: a wrong axis finds more than a huge one.
  void change_number(Fields& list) {
    for (int trial = 0; trial < 8; ++trial) {
      Field& field = list[below(list.size())];
      if (field.type == 2) continue;
      switch (below(4)) {
        case 0:
          field.bits += below(5) - 2;
          return;
        case 1:
          field.bits ^= std::uint64_t{1} << below(64);
          return;
        default:
          field.bits = kNumbers[below(std::size(kNumbers))];
          return;
      }
    }
  }

  void change_text(Field& field) {
    for (const std::string_view op : kOps) {
      if (field.bytes != op || below(8) == 0) continue;
      field.bytes = kOps[below(std::size(kOps))];
      return;
    }
    if (below(2) == 0) return replace(field);
    switch (field.bytes.empty() ? 0 : below(3)) {
      case 0:
        field.bytes.insert(below(field.bytes.size() + 1), 1 + below(8), static_cast<char>(random_()));
        return;
      case 1:
        field.bytes.erase(below(field.bytes.size()), 1 + below(8));
        return;
      default:
        field.bytes[below(field.bytes.size())] = static_cast<char>(random_());
    }
  }

  std::vector<Fields*> lists_, donors_;
  std::mt19937& random_;
};

/// Changes bytes without regard to fields.
void change_bytes(std::string& bytes, std::mt19937& random) {
  if (bytes.empty()) return;
  const std::size_t at = random() % bytes.size();
  switch (random() % 4) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      return;
    case 1:
      bytes.erase(at, 1 + random() % 8);
      return;
    case 2:
      bytes.insert(at, 1, static_cast<char>(random()));
      return;
    default:
      bytes.resize(at);
  }
}

}  // namespace

std::string mutate_model(std::string_view model, std::string_view donor, std::mt19937& random) {
  std::string bytes(model);
  for (std::uint32_t count = 1 + random() % 4; count > 0; --count) {
    std::optional<Fields> fields = parse(bytes), others = parse(donor);
    if (!fields || !others || random() % 16 == 0) {
      change_bytes(bytes, random);
    } else {
      // Each change sees the lists anew, because the one before may have moved them.
      Mutator(*fields, *others, random).change();
      bytes = encode(*fields);
    }
  }
  return bytes;
}

}  // namespace millrace
