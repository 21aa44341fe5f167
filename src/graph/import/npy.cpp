// SPDX-License-Identifier: Apache-2.0
// Reads and writes NumPy files. A file is "\x93NUMPY", two bytes of version, the header's length (2 bytes in version 1,
// otherwise 4), the header, and the elements. The header is a Python dict and a line end:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
#include "millrace/graph/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/text/number.h"
#include "graph/import/tensor_file.h"
#include "millrace/base/file.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint32_t kMaxHeaderBytes = 1 << 16;  // the maximum of version 1; valid headers take about 200 bytes

struct DTypeName {
  std::string_view descr;
  DType dtype;
};
/// A dtype is written with its first name here: bf16 as "<V2".
constexpr DTypeName kDTypeNames[] = {
    {"|b1", DType::kBool}, {"|i1", DType::kI8},  {"<i2", DType::kI16},  {"<i4", DType::kI32},  {"<i8", DType::kI64},
    {"|u1", DType::kU8},   {"<u2", DType::kU16}, {"<u4", DType::kU32},  {"<u8", DType::kU64},  {"<f2", DType::kF16},
    {"<f4", DType::kF32},  {"<f8", DType::kF64}, {"<V2", DType::kBF16}, {"|V2", DType::kBF16},
};

struct Header {
  std::string descr;
  bool is_fortran_order = false;
  std::vector<std::uint64_t> shape;
};

/// The problem with a header; empty if the header is right.
using Problem = std::string;

Problem problem(std::string_view field, TextReader& text, std::string_view expected) {
  return fmt::format("{} is {}, expected {}", field, text.next_token(), expected);
}

Problem read_shape(TextReader& text, std::vector<std::uint64_t>& shape) {
  constexpr std::string_view kExpected = "a tuple of extents, such as (2, 3) or (2,)";
  if (!text.take("(")) return problem("'shape'", text, kExpected);
  while (!text.take(")")) {
    const std::string_view rest = text.rest();
    const Result<std::uint64_t> extent = read_number<std::uint64_t>(text);
    if (!extent.ok()) {
      return fmt::format("extent {} of 'shape' is '{}', expected 0 to 2^64 - 1", shape.size(),
                         printable(rest.substr(0, rest.find_first_of(",)}"))));
    }
    shape.push_back(*extent);
    if (!text.take(",") && !text.rest().starts_with(')')) return problem("what ends 'shape'", text, "',' or ')'");
  }
  return {};
}

Problem read_descr(TextReader& text, std::string& descr) {
  const std::string_view rest = text.rest();
  const bool is_string = rest.starts_with('\'');
  const std::size_t end = is_string ? rest.find('\'', 1) : rest.starts_with('[') ? rest.find(']') : std::string::npos;
  if (end == std::string_view::npos) return problem("'descr'", text, "a dtype in quotes, such as '<f4'");
  descr = is_string ? rest.substr(1, end - 1) : rest.substr(0, end + 1);
  text.skip(end + 1);
  return {};
}

Problem read_order(TextReader& text, bool& is_fortran_order) {
  is_fortran_order = text.take_word("True");
  if (is_fortran_order || text.take_word("False")) return {};
  return problem("'fortran_order'", text, "True or False");
}

/// Parses the dict: each key once, in any order.
Problem read_header(std::string_view dict, Header& header) {
  TextReader text("", dict);
  std::vector<std::string_view> missing = {"'descr'", "'fortran_order'", "'shape'"};
  if (!text.take("{")) return problem("its beginning", text, "'{'");
  while (!text.take("}")) {
    const auto key = std::ranges::find_if(missing, [&](std::string_view known) { return text.take(known); });
    if (key == missing.end()) return problem("a key", text, "'descr', 'fortran_order' and 'shape', each once");
    if (!text.take(":")) return problem(fmt::format("what follows {}", *key), text, "':'");
    const Problem found = *key == "'descr'"           ? read_descr(text, header.descr)
                          : *key == "'fortran_order'" ? read_order(text, header.is_fortran_order)
                                                      : read_shape(text, header.shape);
    if (!found.empty()) return found;
    if (!text.take(",") && !text.rest().starts_with('}')) {
      return problem(fmt::format("what follows the value of {}", *key), text, "',' or '}'");
    }
    missing.erase(key);
  }
  if (!missing.empty()) return fmt::format("{} is missing", missing.front());
  return text.at_end() ? "" : problem("what follows '}'", text, "nothing");
}

Result<DType> dtype_of_descr(const std::string& where, const std::string& descr) {
  for (const auto& [known, dtype] : kDTypeNames) {
    if (known == descr) return dtype;
  }
  if (descr.starts_with('>')) {
    return unimplemented(fmt::format("{}: dtype '{}' is big-endian, expected little-endian; save it as .astype('<{}')",
                                     where, printable(descr), printable(descr.substr(1))));
  }
  std::string known;
  for (const DTypeName& name : kDTypeNames) known += (known.empty() ? "" : ", ") + std::string(name.descr);
  return unimplemented(
      fmt::format("{}: dtype '{}', expected one of {}; convert it with .astype", where, printable(descr), known));
}

/// The bytes before the length field: the magic number and the version.
constexpr std::size_t kVersionEnd = kMagic.size() + 2;

/// The size of the field that holds the dict's length. `front` holds the file's first kVersionEnd bytes, or fewer if it
/// is shorter.
Result<std::size_t> length_bytes(const std::string& where, std::span<const std::byte> front) {
  if (front.size() < kVersionEnd || std::memcmp(front.data(), kMagic.data(), kMagic.size()) != 0) {
    return data_loss(fmt::format("{}: does not begin with \\x93NUMPY and a version; is it an .npy file?", where));
  }
  const auto major = std::to_integer<unsigned>(front[6]), minor = std::to_integer<unsigned>(front[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return unimplemented(
        fmt::format("{}: version {}.{}, expected 1.0, 2.0 or 3.0; save it with numpy.save", where, major, minor));
  }
  return major == 1 ? 2 : 4;
}

struct Described {
  TensorType type;
  bool is_fortran_order = false;
};

Result<Described> describe(const std::string& where, std::span<const std::byte> dict) {
  Header header;
  const Problem problem = read_header({reinterpret_cast<const char*>(dict.data()), dict.size()}, header);
  if (!problem.empty()) {
    return data_loss(fmt::format("{}: in its header {}; save it with numpy.save", where, problem));
  }
  MILLRACE_TRY_ASSIGN(const DType dtype, dtype_of_descr(where, header.descr));
  MILLRACE_TRY_ASSIGN(Shape shape, shape_of(where, header.shape));
  return Described{{dtype, std::move(shape)}, header.is_fortran_order};
}

Status ends_in_header(const std::string& where) {
  return data_loss(fmt::format("{}: ends inside its header; is the file complete?", where));
}

/// Reads the fields before the elements. `take(n)` returns the next n bytes, or fewer at the end.
template <class Take>
Result<Described> read_front(const std::string& where, Take take) {
  MILLRACE_TRY_ASSIGN(const auto front, take(kVersionEnd));
  MILLRACE_TRY_ASSIGN(const std::size_t field_bytes, length_bytes(where, front));
  MILLRACE_TRY_ASSIGN(const auto field, take(field_bytes));
  std::uint32_t length = 0;
  if (field.size() < field_bytes) return ends_in_header(where);
  std::memcpy(&length, field.data(), field_bytes);
  if (length > kMaxHeaderBytes) {
    return data_loss(fmt::format("{}: a header of {} bytes, expected at most {}; save it with numpy.save", where,
                                 length, kMaxHeaderBytes));
  }
  MILLRACE_TRY_ASSIGN(const auto dict, take(length));
  if (dict.size() < length) return ends_in_header(where);
  return describe(where, dict);
}

/// Converts elements from Fortran order (first index innermost) to row-major order.
std::vector<std::byte> to_row_major(const TensorType& type, std::span<const std::byte> elements) {
  const std::size_t size = size_bytes(type.dtype);
  std::vector<std::size_t> extents, steps, index(type.shape.rank(), 0);
  std::size_t step = size;
  for (const SizeExpr& dim : type.shape.dims()) {
    extents.push_back(static_cast<std::size_t>(dim.constant()));
    steps.push_back(step);
    step *= extents.back();
  }
  std::vector<std::byte> result(elements.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to < result.size(); to += size) {
    std::memcpy(result.data() + to, elements.data() + from, size);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      from += steps[axis];
      if (++index[axis] < extents[axis]) break;
      from -= steps[axis] * extents[axis];
      index[axis] = 0;
    }
  }
  return result;
}

Result<NpyArray> array_of(const std::string& where, const Described& described, std::vector<std::byte> elements) {
  const auto& [type, is_fortran_order] = described;
  MILLRACE_TRY(check_file_size(where, type, elements.size()));
  if (type.dtype == DType::kBool && !are_bools(elements)) {
    return data_loss(fmt::format("{}: has a bool that is neither 0 nor 1; save it as .astype(bool)", where));
  }
  if (is_fortran_order) return NpyArray{type, to_row_major(type, elements)};
  return NpyArray{type, std::move(elements)};
}

}  // namespace

static Result<NpyArray> parse_file(const std::string& name, std::span<const std::byte> file) {
  const std::string where = fmt::format("npy '{}'", printable(name));
  const auto take = [&](std::size_t size) -> Result<std::span<const std::byte>> {
    const std::span<const std::byte> taken = file.first(std::min(size, file.size()));
    file = file.subspan(taken.size());
    return taken;
  };
  MILLRACE_TRY_ASSIGN(const Described described, read_front(where, take));
  return array_of(where, described, {file.begin(), file.end()});
}

Result<NpyReader> NpyReader::open(const std::string& path) {
  return guard_allocations([&]() -> Result<NpyReader> {
    std::string where = fmt::format("npy '{}'", printable(path));
    MILLRACE_TRY_ASSIGN(FileReader file, FileReader::open(where, path));
    NpyReader reader(std::move(where), std::move(file));
    const auto take = [&](std::size_t size) { return reader.file_.read(size); };
    MILLRACE_TRY_ASSIGN(Described described, read_front(reader.where_, take));
    reader.type_ = std::move(described.type);
    reader.is_fortran_order_ = described.is_fortran_order;
    if (const auto left = reader.file_.size_left()) MILLRACE_TRY(check_file_size(reader.where_, reader.type_, *left));
    return reader;
  });
}

Result<NpyArray> NpyReader::read() {
  return guard_allocations([&] { return fmt::format("{}: {} bytes", where_, size_bytes(type_).to_text()); },
                           [&] { return read_elements(); });
}

Result<NpyArray> NpyReader::read_elements() {
  // Ask for one byte more than expected, because the size of a pipe is unknown: it may hold too many bytes.
  const auto size = static_cast<std::size_t>(size_bytes(type_).constant());
  MILLRACE_TRY_ASSIGN(std::vector<std::byte> elements, file_.read(size + 1));
  if (elements.size() > size) return wrong_file_size(where_, type_, fmt::format("{} bytes or more", size + 1));
  return array_of(where_, {type_, is_fortran_order_}, std::move(elements));
}

Result<NpyArray> parse_npy(const std::string& name, std::span<const std::byte> file) {
  return guard_allocations([&] { return fmt::format("npy '{}' of {} bytes", printable(name), file.size()); },
                           [&] { return parse_file(name, file); });
}

Result<NpyArray> read_npy(const std::string& path) {
  const auto where = [&] { return fmt::format("npy '{}'", printable(path)); };
  return guard_allocations(where, [&]() -> Result<NpyArray> {
    MILLRACE_TRY_ASSIGN(NpyReader reader, NpyReader::open(path));
    return reader.read_elements();
  });
}

static Status write_file_of(const std::string& path, const TensorType& type, std::span<const std::byte> bytes) {
  const auto* name = std::ranges::find(kDTypeNames, type.dtype, &DTypeName::dtype);
  const std::string where = fmt::format("npy '{}'", printable(path));
  if (!type.shape.is_static() || !size_bytes(type).is(static_cast<std::int64_t>(bytes.size()))) {
    return invalid_argument(fmt::format("{}: {} bytes given, expected {} for {}; give every element once", where,
                                        bytes.size(), size_bytes(type).to_text(), type.to_text()));
  }
  std::string shape;
  for (const SizeExpr& dim : type.shape.dims()) shape += (shape.empty() ? "" : ", ") + dim.to_text();
  if (type.shape.rank() == 1) shape += ",";
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", name->descr, shape);
  // Pad with spaces and a line end so that the elements start at a multiple of 64 bytes, aligned in a mapped file.
  constexpr std::size_t kBegin = kMagic.size() + 4, kAlignment = 64;
  header.resize((kBegin + header.size()) / kAlignment * kAlignment + kAlignment - kBegin - 1, ' ');
  header += '\n';
  std::string front(kMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, header.size() & 0xff, header.size() >> 8}) {
    front += static_cast<char>(byte);
  }
  front += header;
  std::vector<std::byte> truths;
  if (type.dtype == DType::kBool) {
    truths = to_bools(bytes);
    bytes = truths;
  }
  return write_file(where, path, std::array{std::as_bytes(std::span<const char>(front)), bytes});
}

Status write_npy(const std::string& path, const TensorType& type, std::span<const std::byte> bytes) {
  return guard_allocations([&] { return fmt::format("npy '{}'", printable(path)); },
                           [&] { return write_file_of(path, type, bytes); });
}

}  // namespace millrace
