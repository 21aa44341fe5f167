// SPDX-License-Identifier: Apache-2.0
// Prints and reads the elements of constants and variables: listed, as bytes, shortened, or in files.
#include "graph/text/constant_text.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "base/text/number.h"
#include "millrace/base/file.h"
#include "millrace/base/printable.h"
#include "millrace/graph/npy.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxListed = 16, kMaxShortened = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_bool(std::byte byte) { return byte <= std::byte{1}; }

std::string first_elements(DType dtype, std::span<const std::byte> data, std::size_t count) {
  return visit_dtype(dtype, [&]<class T>() {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, data.data() + i * sizeof element, sizeof element);
      text += (i == 0 ? "" : ", ") + number_text(element);
    }
    return text;
  });
}

template <class T>
Status read_list(TextReader& text, std::vector<std::byte>& bytes) {
  if (text.rest().starts_with(')')) return {};
  do {
    if (text.rest().starts_with("...")) {
      return text.error(
          text.position(),
          "found a constant that is cut short, expected all its elements; print it to a file with dump -o, or in C++ "
          "with LargeConstants::kBytes");
    }
    MILLRACE_TRY_ASSIGN(const T element, read_number<T>(text));
    const auto* first = reinterpret_cast<const std::byte*>(&element);
    bytes.insert(bytes.end(), first, first + sizeof element);
  } while (text.take(","));
  return {};
}

Status read_bytes(TextReader& text, std::vector<std::byte>& bytes) {
  const std::size_t begin = text.position();
  MILLRACE_TRY_ASSIGN(const std::string digits, text.read_string());
  bytes.resize(digits.size() / 2);
  bool is_hex = digits.size() % 2 == 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
    is_hex = is_hex && high >= 0 && low >= 0;
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  if (is_hex) return {};
  return text.error(begin, "found other characters, expected two hexadecimal digits per byte; correct the digits");
}

}  // namespace

const SharedBytes* elements_of(const Node& node) {
  if (const auto* constant = std::get_if<ConstantNode>(&node.what)) return &constant->data;
  const auto* variable = std::get_if<VariableNode>(&node.what);
  return variable != nullptr ? &variable->initial : nullptr;
}

bool is_large(const TensorType& type) {
  return type.shape.num_elements().lower_bound() > static_cast<std::int64_t>(kMaxListed);
}

std::string listed_text(const TensorType& type, std::span<const std::byte> data) {
  if (type.dtype == DType::kBool && !std::ranges::all_of(data, is_bool)) return bytes_text(data);
  return first_elements(type.dtype, data, data.size() / size_bytes(type.dtype));
}

std::string bytes_text(std::span<const std::byte> data) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "bytes \"";
  text.reserve(text.size() + data.size() * 2 + 1);
  for (const std::byte byte : data) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text + '"';
}

std::string shortened_text(const TensorType& type, std::span<const std::byte> data) {
  const std::size_t shown = std::min(data.size(), kMaxShortened * size_bytes(type.dtype));
  return fmt::format("{}, ... {} more", listed_text(type, data.first(shown)),
                     (type.shape.num_elements() - static_cast<std::int64_t>(kMaxShortened)).to_text());
}

void shorten_constants(Graph& graph) {
  for (Node& node : graph.nodes) {
    for (std::shared_ptr<const Graph>* body : bodies_of(node)) {
      auto shortened = std::make_shared<Graph>(**body);
      shorten_constants(*shortened);
      *body = std::move(shortened);
    }
    auto* const constant = std::get_if<ConstantNode>(&node.what);
    auto* const variable = std::get_if<VariableNode>(&node.what);
    SharedBytes* const data = constant != nullptr   ? &constant->data
                              : variable != nullptr ? &variable->initial
                                                    : nullptr;
    if (data == nullptr || !is_large(node.results[0])) continue;
    const std::size_t shown_bytes = kMaxShortened * size_bytes(node.results[0].dtype);
    if (data->size() > shown_bytes) *data = SharedBytes(std::span(*data).first(shown_bytes));
  }
}

Status skip_elements(TextReader& text) {
  int depth = 0;
  while (true) {
    const char c = text.at_end() ? '\0' : text.rest()[0];
    if (c == ')' && depth == 0) return {};
    if (c == '"') {
      MILLRACE_TRY_ASSIGN([[maybe_unused]] const std::string skipped, text.read_string());
    } else if (c == '(' || c == ')' || c == ',' || c == '-' || c == '+') {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      text.skip(1);
    } else if (text.take_name_characters().empty()) {
      return text.unexpected("expected ')'; close the elements");
    }
  }
}

Result<std::vector<std::byte>> read_elements(TextReader& text, const TensorType& type) {
  const std::size_t begin = text.position();
  std::vector<std::byte> bytes;
  const bool is_listed = !text.take_word("bytes");
  if (is_listed) {
    MILLRACE_TRY(visit_dtype(type.dtype, [&]<class T>() { return read_list<T>(text, bytes); }));
  } else {
    MILLRACE_TRY(read_bytes(text, bytes));
  }
  if (!text.rest().starts_with(')')) return text.unexpected("expected ',' or ')'; separate the elements with commas");
  if (bytes.size() == size_bytes(type.dtype)) return bytes;
  if (size_bytes(type).is(static_cast<std::int64_t>(bytes.size()))) return bytes;
  if (!is_listed) {
    return text.error(begin, fmt::format("found {} bytes, expected {} for {}; give every element once", bytes.size(),
                                         size_bytes(type).to_text(), type.to_text()));
  }
  const std::size_t count = bytes.size() / size_bytes(type.dtype);
  return text.error(begin, fmt::format("found {} element{}, expected {} for {}; give every element once", count,
                                       count == 1 ? "" : "s", type.shape.num_elements().to_text(), type.to_text()));
}

Result<ConstantFiles::Constant> ConstantFiles::read(TextReader& text) {
  const std::size_t begin = text.position();
  if (!text.take("(")) return text.unexpected("expected '('; write the file's name in parentheses");
  MILLRACE_TRY_ASSIGN(const std::string file, text.read_string());
  std::string entry;
  std::optional<std::uint64_t> offset;
  const bool has_entry = text.take(",");
  if (has_entry && !text.at_end() && is_digit(text.rest()[0])) {
    MILLRACE_TRY_ASSIGN(offset, read_number<std::uint64_t>(text));
  } else if (has_entry) {
    MILLRACE_TRY_ASSIGN(entry, text.read_string());
  }
  if (!text.take(")")) return text.unexpected("expected ')'; close the file's name");
  if (directory_.empty()) {
    return text.error(begin, fmt::format("found the file {}, expected none in a text that has no directory; read the "
                                         "text with read_graph, or set ParseOptions::directory",
                                         printable(string_text(file))));
  }
  const std::string path = (std::filesystem::path(directory_) / file).string();
  Result<Constant> constant = offset ? load_from(path, *offset) : load(path, has_entry ? &entry : nullptr);
  if (constant.ok()) return constant;
  return Status(constant.status().code(), text.error(begin, constant.status().message()).message());
}

Result<ConstantFiles::Constant> ConstantFiles::load(const std::string& file, const std::string* entry) {
  if (entry == nullptr) {
    MILLRACE_TRY_ASSIGN(NpyReader reader, NpyReader::open(file));
    MILLRACE_TRY_ASSIGN(NpyView array, reader.map());
    return Constant{std::move(array.type), std::move(array.bytes)};
  }
  auto opened = opened_.find(file);
  if (opened == opened_.end()) {
    MILLRACE_TRY_ASSIGN(Safetensors read, Safetensors::read(file));
    opened = opened_.emplace(file, std::move(read)).first;
  }
  MILLRACE_TRY_ASSIGN(const Safetensors::Entry found, opened->second.get(*entry));
  return Constant{found.type, found.shared_bytes()};
}

Result<ConstantFiles::Constant> ConstantFiles::load_from(const std::string& file, std::uint64_t offset) {
  const std::string where = fmt::format("file '{}'", printable(file));
  auto mapped = mapped_.find(file);
  if (mapped == mapped_.end()) {
    MILLRACE_TRY_ASSIGN(FileReader reader, FileReader::open(where, file));
    MILLRACE_TRY_ASSIGN(SharedBytes bytes, reader.map(std::numeric_limits<std::size_t>::max()));
    mapped = mapped_.emplace(file, std::move(bytes)).first;
  }
  const SharedBytes& bytes = mapped->second;
  if (offset <= bytes.size()) return Constant{{}, bytes.part(offset, bytes.size() - offset), /*needs_type=*/true};
  return out_of_range(
      fmt::format("{}: found the offset {}, expected at most {}, the file's size; is the file complete?", where, offset,
                  bytes.size()));
}

}  // namespace millrace
