// SPDX-License-Identifier: Apache-2.0
// Reads and writes safetensors files, and checks that every byte of the data belongs to one tensor.
#include "millrace/graph/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <list>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/guard_allocations.h"
#include "graph/import/safetensors_header.h"
#include "graph/import/tensor_file.h"
#include "millrace/base/file.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

constexpr std::pair<std::string_view, DType> kDTypeNames[] = {
    {"BOOL", DType::kBool}, {"I8", DType::kI8},   {"I16", DType::kI16}, {"I32", DType::kI32}, {"I64", DType::kI64},
    {"U8", DType::kU8},     {"U16", DType::kU16}, {"U32", DType::kU32}, {"U64", DType::kU64}, {"F16", DType::kF16},
    {"BF16", DType::kBF16}, {"F32", DType::kF32}, {"F64", DType::kF64},
};

std::optional<DType> dtype_named(const std::string& name) {
  for (const auto& [text, dtype] : kDTypeNames) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

std::string_view name_of(DType dtype) {
  for (const auto& [text, known] : kDTypeNames) {
    if (known == dtype) return text;
  }
  return "";
}

Result<TensorType> read_type(const std::string& where, const HeaderEntry& entry) {
  if (!entry.dtype) return data_loss(fmt::format("{}: has no dtype", where));
  const std::optional<DType> known = dtype_named(*entry.dtype);
  if (!known) {
    return unimplemented(
        fmt::format("{}: dtype '{}' is not known; convert the tensor", where, printable(*entry.dtype)));
  }
  if (!entry.shape) return data_loss(fmt::format("{}: shape is not a list of sizes", where));
  TensorType type{*known, {}};
  MILLRACE_TRY_ASSIGN(type.shape, shape_of(where, *entry.shape));
  return type;
}

/// A tensor as the header describes it, in bytes [begin, end) of the data.
struct HeaderTensor {
  TensorType type;
  std::uint64_t begin = 0, end = 0;
};

/// `data_bytes` is the size of the data; empty if it is unknown (a pipe).
Result<HeaderTensor> read_entry(const std::string& where, const HeaderEntry& entry,
                                std::optional<std::uint64_t> data_bytes) {
  if (!entry.is_object) return data_loss(fmt::format("{}: the entry is not a JSON object", where));
  MILLRACE_TRY_ASSIGN(TensorType type, read_type(where, entry));
  const auto& range = entry.data_offsets;
  if (!range || range->size() != 2) return data_loss(fmt::format("{}: data_offsets is not a pair of offsets", where));
  const std::uint64_t begin = (*range)[0], end = (*range)[1];
  if (begin > end || end > data_bytes.value_or(end)) {
    const std::string place = data_bytes ? fmt::format("within the {} data bytes", *data_bytes) : "in order";
    return data_loss(fmt::format("{}: data_offsets [{}, {}] are not {}", where, begin, end, place));
  }
  if (!size_bytes(type).is(static_cast<std::int64_t>(end - begin))) {
    return data_loss(fmt::format("{}: holds {} bytes, expected {} for {}", where, end - begin,
                                 size_bytes(type).to_text(), type.to_text()));
  }
  return HeaderTensor{std::move(type), begin, end};
}

/// The header, and the number of data bytes that must follow it.
struct Front {
  std::map<std::string, HeaderTensor> entries;
  std::uint64_t data_bytes = 0;
};

/// Checks what the format demands: no gap, no byte shared by two tensors, and nothing after the last tensor.
Status check_coverage(const std::string& where, const Front& front) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, entry] : front.entries) {
    if (entry.begin != entry.end) ranges.emplace_back(entry.begin, entry.end);
  }
  std::sort(ranges.begin(), ranges.end());
  ranges.emplace_back(front.data_bytes, front.data_bytes);
  std::uint64_t end = 0;
  for (const auto& [begin, next] : ranges) {
    if (begin != end) {
      return data_loss(fmt::format("{}: bytes [{}, {}) belong to {}, expected each byte in one; write the file anew",
                                   where, std::min(begin, end), std::max(begin, end),
                                   begin < end ? "two tensors" : "no tensor"));
    }
    end = next;
  }
  return {};
}

Result<Front> read_header(const std::string& where, std::span<const std::byte> text,
                          std::optional<std::uint64_t> data_bytes) {
  const std::optional<SafetensorsHeader> header = parse_safetensors_header(text);
  if (!header) return data_loss(fmt::format("{}: the header is not a JSON object", where));
  if (header->repeated) {
    return data_loss(fmt::format("{}: the header has '{}' twice", where, printable(*header->repeated)));
  }
  Front front;
  for (const auto& [name, entry] : header->entries) {
    if (name == "__metadata__") continue;
    MILLRACE_TRY_ASSIGN(HeaderTensor tensor,
                        read_entry(fmt::format("{}: '{}'", where, printable(name)), entry, data_bytes));
    front.data_bytes = std::max(front.data_bytes, tensor.end);
    front.entries.emplace(name, std::move(tensor));
  }
  front.data_bytes = data_bytes.value_or(front.data_bytes);
  MILLRACE_TRY(check_coverage(where, front));
  return front;
}

/// Reads what precedes the data. `take(n)` returns the next n bytes, or fewer at the end; `left()` returns the number
/// of bytes left, if known.
template <class Take, class Left>
Result<Front> read_front(const std::string& where, Take take, Left left) {
  std::uint64_t header_bytes = 0;
  MILLRACE_TRY_ASSIGN(const auto field, take(sizeof header_bytes));
  if (field.size() < sizeof header_bytes) {
    return data_loss(fmt::format("{}: has {} bytes, expected at least 8 for the header's length", where, field.size()));
  }
  std::memcpy(&header_bytes, field.data(), sizeof header_bytes);
  if (const std::optional<std::uint64_t> rest = left(); rest && header_bytes > *rest) {
    return data_loss(fmt::format("{}: a header of {} bytes, but {} bytes follow; is it a safetensors file?", where,
                                 header_bytes, *rest));
  }
  if (header_bytes > kMaxHeaderBytes) {
    return data_loss(fmt::format("{}: a header of {} bytes, expected at most {}; is it a safetensors file?", where,
                                 header_bytes, kMaxHeaderBytes));
  }
  MILLRACE_TRY_ASSIGN(const auto header, take(header_bytes));
  if (header.size() < header_bytes) {
    return data_loss(fmt::format("{}: a header of {} bytes, but {} bytes follow; is it a safetensors file?", where,
                                 header_bytes, header.size()));
  }
  return read_header(where, header, left());
}

Result<std::map<std::string, Safetensors::Entry>> entries_in(const std::string& where, Front front,
                                                             const SharedBytes& data) {
  if (data.size() != front.data_bytes) {
    return data_loss(fmt::format("{}: holds {} data bytes{}, expected {}; is the file complete?", where, data.size(),
                                 data.size() > front.data_bytes ? " or more" : "", front.data_bytes));
  }
  std::map<std::string, Safetensors::Entry> entries;
  for (auto& [name, tensor] : front.entries) {
    const std::span elements = std::span(data).subspan(tensor.begin, tensor.end - tensor.begin);
    if (tensor.type.dtype == DType::kBool && !are_bools(elements)) {
      return data_loss(fmt::format("{}: '{}': has a bool that is neither 0 nor 1; save it as .to(torch.bool)", where,
                                   printable(name)));
    }
    entries.emplace(name, Safetensors::Entry{std::move(tensor.type), elements, data.owner()});
  }
  return entries;
}

}  // namespace

Result<Safetensors> Safetensors::read(const std::string& path) {
  const auto place = [&] { return fmt::format("safetensors '{}'", printable(path)); };
  return guard_allocations(place, [&]() -> Result<Safetensors> {
    const std::string where = place();
    MILLRACE_TRY_ASSIGN(FileReader file, FileReader::open(where, path));
    const auto take = [&](std::size_t size) { return file.read(size); };
    MILLRACE_TRY_ASSIGN(Front front, read_front(where, take, [&] { return file.size_left(); }));
    // Ask for one byte more than expected, because the size of a pipe is unknown: it may hold too many bytes.
    MILLRACE_TRY_ASSIGN(const SharedBytes data, file.map(front.data_bytes + 1));
    Safetensors result;
    result.name_ = path;
    MILLRACE_TRY_ASSIGN(result.entries_, entries_in(where, std::move(front), data));
    return result;
  });
}

Result<Safetensors> Safetensors::parse(std::string name, std::vector<std::byte> file) {
  const std::size_t size_bytes = file.size();
  return guard_allocations([&] { return fmt::format("safetensors '{}' of {} bytes", printable(name), size_bytes); },
                           [&] { return parse_file(name, std::move(file)); });
}

Result<Safetensors> Safetensors::parse_file(const std::string& name, SharedBytes file) {
  const std::string where = fmt::format("safetensors '{}'", printable(name));
  Safetensors result;
  result.name_ = name;
  const auto take = [&](std::size_t size) -> Result<SharedBytes> {
    SharedBytes taken = file.part(0, std::min(size, file.size()));
    file = file.part(taken.size(), file.size() - taken.size());
    return taken;
  };
  const auto left = [&] { return std::optional<std::uint64_t>(file.size()); };
  MILLRACE_TRY_ASSIGN(Front front, read_front(where, take, left));
  MILLRACE_TRY_ASSIGN(result.entries_, entries_in(where, std::move(front), file));
  return result;
}

Result<Safetensors::Entry> Safetensors::get(const std::string& name) const {
  return guard_allocations([&]() -> Result<Safetensors::Entry> {
    const auto it = entries_.find(name);
    if (it != entries_.end()) return it->second;
    PrintableNames known;
    for (const auto& [key, entry] : entries_) known.add(key);
    return not_found(
        fmt::format("safetensors '{}': has no '{}'; it has: {}", printable(name_), printable(name), known.text()));
  });
}

/// A JSON string. Invalid UTF-8 becomes U+FFFD.
static std::string quoted(const std::string& name) {
  using Json = nlohmann::json;
  return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Formats an entry, "w":{...}, without a tree of JSON values: destroying such a tree allocates, and aborts the process
/// when out of memory.
static std::string stated_text(const std::string& name, const TensorType& type, std::size_t begin, std::size_t end) {
  std::string shape;
  for (const SizeExpr& dim : type.shape.dims()) shape += (shape.empty() ? "" : ",") + dim.to_text();
  return fmt::format(R"({}:{{"data_offsets":[{},{}],"dtype":"{}","shape":[{}]}})", quoted(name), begin, end,
                     name_of(type.dtype), shape);
}

static Status write_file_of(const std::string& path, const std::map<std::string, Safetensors::Entry>& entries) {
  const std::string where = fmt::format("safetensors '{}'", printable(path));
  std::string text;
  std::vector<std::span<const std::byte>> parts(1);  // room for the header
  std::list<std::vector<std::byte>> bools;
  std::size_t offset = 0;
  for (const auto& [name, entry] : entries) {
    if (!entry.type.shape.is_static() || !size_bytes(entry.type).is(static_cast<std::int64_t>(entry.bytes.size()))) {
      return invalid_argument(fmt::format("{}: '{}': {} bytes given, expected {} for {}; give every element once",
                                          where, printable(name), entry.bytes.size(), size_bytes(entry.type).to_text(),
                                          entry.type.to_text()));
    }
    text += (text.empty() ? "{" : ",") + stated_text(name, entry.type, offset, offset + entry.bytes.size());
    const bool is_bool = entry.type.dtype == DType::kBool;
    parts.push_back(is_bool ? bools.emplace_back(to_bools(entry.bytes)) : entry.bytes);
    offset += entry.bytes.size();
  }
  text += text.empty() ? "{}" : "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data to 8 bytes
  const std::uint64_t length = text.size();
  text.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
  parts[0] = std::as_bytes(std::span<const char>(text));
  return write_file(where, path, parts);
}

Status write_safetensors(const std::string& path, const std::map<std::string, Safetensors::Entry>& entries) {
  return guard_allocations([&] { return fmt::format("safetensors '{}'", printable(path)); },
                           [&] { return write_file_of(path, entries); });
}

}  // namespace millrace
