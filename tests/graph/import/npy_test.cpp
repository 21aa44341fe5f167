// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/npy.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/base/file.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

/// A file as numpy.save would write it, or nearly.
std::vector<std::byte> file_of(const std::string& header, std::size_t element_bytes, char version = 1) {
  std::string front = std::string("\x93NUMPY") + version + '\0';
  const std::uint32_t length = static_cast<std::uint32_t>(header.size());
  front.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  front += header;
  std::vector<std::byte> file(front.size() + element_bytes);
  std::memcpy(file.data(), front.data(), front.size());
  for (std::size_t i = 0; i < element_bytes; ++i) file[front.size() + i] = static_cast<std::byte>(i);
  return file;
}

std::string dict(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string error_of(const std::string& header, std::size_t element_bytes = 24) {
  return parse_npy("f", file_of(header, element_bytes)).status().message();
}

std::vector<int> numbers(const NpyArray& array) {
  std::vector<int> result;
  for (std::byte byte : array.bytes) result.push_back(std::to_integer<int>(byte));
  return result;
}

TEST_CASE("every dtype is read, with its shape, from each version of the format") {
  const std::pair<const char*, DType> kinds[] = {
      {"'|b1'", DType::kBool}, {"'|i1'", DType::kI8},  {"'<i2'", DType::kI16}, {"'<i4'", DType::kI32},
      {"'<i8'", DType::kI64},  {"'|u1'", DType::kU8},  {"'<u2'", DType::kU16}, {"'<u4'", DType::kU32},
      {"'<u8'", DType::kU64},  {"'<f2'", DType::kF16}, {"'<f4'", DType::kF32}, {"'<f8'", DType::kF64},
      {"'<V2'", DType::kBF16}, {"'|V2'", DType::kBF16}};
  for (const auto& [descr, dtype] : kinds) {
    for (const char version : {1, 2, 3}) {
      CAPTURE(descr);
      const std::size_t bytes = 2 * size_bytes(dtype);
      const Result<NpyArray> array = parse_npy("f", file_of(dict(descr, "False", "(2, 1)"), bytes, version));
      REQUIRE_MESSAGE(array.ok(), array.status().message());
      CHECK(array->type == TensorType{dtype, {2, 1}});
      CHECK(array->bytes.size() == bytes);
      CHECK(array->bytes.back() == static_cast<std::byte>(bytes - 1));
    }
  }
}

TEST_CASE("the header's keys stand in any order, and shapes are Python tuples") {
  const auto type_of = [](const std::string& header, std::size_t bytes) {
    return parse_npy("f", file_of(header, bytes)).value().type.to_text();
  };
  CHECK(type_of("{'shape':(),'fortran_order':True,'descr':'<f4'}", 4) == "f32[]");
  CHECK(type_of(dict("'<f4'", "False", "(3,)"), 12) == "f32[3]");
  CHECK(type_of(dict("'<f4'", "False", "(0, 7)"), 0) == "f32[0x7]");
}

TEST_CASE("Fortran order becomes row-major") {
  CHECK(numbers(parse_npy("f", file_of(dict("'|u1'", "True", "(2, 3)"), 6)).value()) ==
        std::vector<int>{0, 2, 4, 1, 3, 5});
  CHECK(numbers(parse_npy("f", file_of(dict("'|u1'", "True", "(2, 1, 2, 2)"), 8)).value()) ==
        std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK(numbers(parse_npy("f", file_of(dict("'<i2'", "True", "(2, 2)"), 8)).value()) ==
        std::vector<int>{0, 1, 4, 5, 2, 3, 6, 7});
}

TEST_CASE("a mistake in a file is reported with the values") {
  CHECK(parse_npy("f", {}).status().message() ==
        "npy 'f': does not begin with \\x93NUMPY and a version; is it an .npy file?");
  CHECK(parse_npy("f", file_of("", 0, 4)).status().message() ==
        "npy 'f': version 4.0, expected 1.0, 2.0 or 3.0; save it with numpy.save");
  std::vector<std::byte> cut = file_of(dict("'<f4'", "False", "(2, 3)"), 0);
  cut.resize(30);
  CHECK(parse_npy("f", cut).status().message() == "npy 'f': ends inside its header; is the file complete?");
  cut.resize(9);
  CHECK(parse_npy("f", cut).status().message() == "npy 'f': ends inside its header; is the file complete?");
  CHECK(error_of(dict("'>f4'", "False", "(2, 3)")) ==
        "npy 'f': dtype '>f4' is big-endian, expected little-endian; save it as .astype('<f4')");
  const std::string known =
      "expected one of |b1, |i1, <i2, <i4, <i8, |u1, <u2, <u4, <u8, <f2, <f4, <f8, <V2, |V2; convert it with .astype";
  CHECK(error_of(dict("'<U5'", "False", "(2, 3)")) == "npy 'f': dtype '<U5', " + known);
  CHECK(error_of(dict("'\n\x9b'", "False", "(2, 3)")) == "npy 'f': dtype '\\n\\x9b', " + known);
  CHECK(error_of(dict("[('a', '<f4'), ('b', '<i4')]", "False", "(2, 3)")) ==
        "npy 'f': dtype '[('a', '<f4'), ('b', '<i4')]', " + known);
  CHECK(error_of(dict("'<f4'", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)")) == "npy 'f': rank 9, expected at most 8");
  CHECK(error_of(dict("'<f4'", "False", "(0, 4294967296, 65536)"), 0) ==
        "npy 'f': the shape has more than 2^48 elements");
  CHECK(error_of(dict("'<f4'", "False", "(2, 4)")) ==
        "npy 'f': holds 24 bytes of elements, expected 32 for f32[2x4]; is the file complete?");
  CHECK(error_of(dict("'|b1'", "False", "(3,)"), 3) ==
        "npy 'f': has a bool that is neither 0 nor 1; save it as .astype(bool)");
  CHECK(read_npy("/nowhere/f").status().message() ==
        "npy '/nowhere/f': the file cannot be opened: No such file or directory; check the path");
  CHECK(read_npy("/tmp").status().message() ==
        "npy '/tmp': the file cannot be read: Is a directory; check the kind of file");
}

TEST_CASE("a reader gives the type before it reads elements, and reports a size that differs from the header's") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/f.npy";
  const auto write = [&](std::span<const std::byte> bytes) { REQUIRE(write_file("f", path, std::array{bytes}).ok()); };
  std::vector<std::byte> file = file_of(dict("'<i2'", "True", "(2, 2)"), 8);
  write(file);
  NpyReader reader = NpyReader::open(path).value();
  CHECK(reader.type().to_text() == "i16[2x2]");
  CHECK(numbers(reader.read().value()) == std::vector<int>{0, 1, 4, 5, 2, 3, 6, 7});
  file.push_back({});
  write(file);
  CHECK(NpyReader::open(path).status().message() ==
        fmt::format("npy '{}': holds 9 bytes of elements, expected 8 for i16[2x2]; is the file complete?", path));
}

TEST_CASE("elements in C order are mapped from the file; others are read") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/f.npy";
  const auto map = [&](std::span<const std::byte> bytes) {
    REQUIRE(write_file("f", path, std::array{bytes}).ok());
    return NpyReader::open(path)->map();
  };
  const auto is_mapped = [](const NpyView& npy, std::size_t front) {
    return reinterpret_cast<std::uintptr_t>(npy.bytes.data()) % 4096 == front % 4096;
  };
  const auto elements = [](const NpyView& npy) { return numbers({npy.type, {npy.bytes.begin(), npy.bytes.end()}}); };
  const std::vector<std::byte> c_order = file_of(dict("'|u1'", "False", "(2, 3)"), 6);
  const NpyView mapped = map(c_order).value();
  CHECK(is_mapped(mapped, c_order.size() - 6));
  CHECK(elements(mapped) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(elements(map(file_of(dict("'|u1'", "True", "(2, 3)"), 6)).value()) == std::vector<int>{0, 2, 4, 1, 3, 5});
  const std::vector<std::byte> odd = file_of(dict("'<i2'", "False", "(3,)") + " ", 6);
  REQUIRE(file_of(dict("'<i2'", "False", "(3,)"), 0).size() % 2 == 0);
  CHECK(elements(map(odd).value()) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(map(file_of(dict("'<f4'", "False", "(0,)"), 0)).value().bytes.empty());
  CHECK(map(file_of(dict("'|b1'", "False", "(3,)"), 3)).status().message() ==
        "npy '" + path + "': has a bool that is neither 0 nor 1; save it as .astype(bool)");
}

TEST_CASE("a file that was cut short or grew after it was opened is not mapped") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/f.npy";
  const std::vector<std::byte> file = file_of(dict("'<i2'", "False", "(2, 2)"), 8);
  for (const int change : {-8, -1, 1}) {
    REQUIRE(write_file("f", path, std::array{std::span<const std::byte>(file)}).ok());
    NpyReader reader = NpyReader::open(path).value();
    REQUIRE(truncate(path.c_str(), static_cast<off_t>(file.size()) + change) == 0);
    CHECK(reader.map().status().message() ==
          fmt::format("npy '{}': holds {} bytes of elements, expected 8 for i16[2x2]; is the file complete?", path,
                      8 + change));
  }
}

/// What reading these bytes from a pipe, which has no size to ask for, gives.
Result<NpyArray> read_from_pipe(std::span<const std::byte> bytes) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  REQUIRE(write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  close(ends[1]);
  Result<NpyArray> array = read_npy(fmt::format("/dev/fd/{}", ends[0]));
  close(ends[0]);
  return array;
}

TEST_CASE("a pipe is read as a file is, and one that holds more or less is refused") {
  std::vector<std::byte> file = file_of(dict("'|u1'", "False", "(4,)"), 4);
  CHECK(numbers(read_from_pipe(file).value()) == std::vector<int>{0, 1, 2, 3});
  file.resize(file.size() + 100);
  CHECK(read_from_pipe(file).status().message().ends_with(
      "': holds 5 bytes or more of elements, expected 4 for u8[4]; is the file complete?"));
  file.resize(file.size() - 101);
  CHECK(read_from_pipe(file).status().message().ends_with(
      "': holds 3 bytes of elements, expected 4 for u8[4]; is the file complete?"));
}

TEST_CASE("an overlong header is refused before it is read, even if the file has that many bytes") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/f.npy";
  std::vector<std::byte> front = file_of("", 0, 2);
  constexpr std::uint32_t kLength = 0xfffffff0;
  std::memcpy(front.data() + front.size() - sizeof kLength, &kLength, sizeof kLength);
  REQUIRE(write_file("f", path, std::array{std::span<const std::byte>(front)}).ok());
  std::filesystem::resize_file(path, std::uintmax_t{4} << 40);
  const std::string problem = "': a header of 4294967280 bytes, expected at most 65536; save it with numpy.save";
  CHECK(NpyReader::open(path).status().message() == "npy '" + path + problem);
  CHECK(parse_npy("f", front).status().message() == "npy 'f" + problem);
  const std::string longest = dict("'<f4'", "False", "(2, 3)") + std::string(65536, ' ');
  CHECK(error_of(longest.substr(0, 65535)) == "");
  CHECK(parse_npy("f", file_of(longest.substr(0, 65536), 24, 2)).ok());
  CHECK_FALSE(parse_npy("f", file_of(longest.substr(0, 65537), 24, 2)).ok());
}

TEST_CASE("a header that is not a dict of the three keys is refused, and the field is named") {
  const std::string good = dict("'<f4'", "False", "(2, 3)");
  REQUIRE(error_of(good) == "");
  const std::pair<std::string, const char*> headers[] = {
      {"", "its beginning is the end of the text, expected '{'"},
      {"[" + good, "its beginning is '[', expected '{'"},
      {good.substr(1), "its beginning is ''', expected '{'"},
      {"{}", "'descr' is missing"},
      {"{'descr': '<f4'}", "'fortran_order' is missing"},
      {"{'descr': '<f4', 'fortran_order': True}", "'shape' is missing"},
      {good + good, "what follows '}' is '{', expected nothing"},
      {dict("'<f4", "False", "(2, 3)"), "what follows the value of 'descr' is 'fortran_order', expected ',' or '}'"},
      {dict("<f4", "False", "(2, 3)"), "'descr' is '<', expected a dtype in quotes, such as '<f4'"},
      {dict("'<f4'", "0", "(2, 3)"), "'fortran_order' is '0', expected True or False"},
      {dict("'<f4'", "False", "[2, 3]"), "'shape' is '[', expected a tuple of extents, such as (2, 3) or (2,)"},
      {dict("'<f4'", "False", "(-2, 3)"), "extent 0 of 'shape' is '-2', expected 0 to 2^64 - 1"},
      {dict("'<f4'", "False", "(2, 99999999999999999999)"),
       "extent 1 of 'shape' is '99999999999999999999', expected 0 to 2^64 - 1"},
      {dict("'<f4'", "False", "(2 3)"), "what ends 'shape' is '3', expected ',' or ')'"},
      {dict("'<f4'", "False", "(2, 3"), "extent 2 of 'shape' is '', expected 0 to 2^64 - 1"},
      {"{'more': 1, " + good.substr(1), "a key is ''', expected 'descr', 'fortran_order' and 'shape', each once"},
      {"{'descr': '<f4', " + good.substr(1), "a key is ''', expected 'descr', 'fortran_order' and 'shape', each once"},
      {"{'descr' '<f4'}", "what follows 'descr' is ''', expected ':'"},
      {"{'descr': '<f4' 'shape': (2, 3)}", "what follows the value of 'descr' is ''', expected ',' or '}'"},
  };
  for (const auto& [header, problem] : headers) {
    CAPTURE(header);
    CHECK(error_of(header) == fmt::format("npy 'f': in its header {}; save it with numpy.save", problem));
  }
}

TEST_CASE("no damage is fatal, and an accepted array holds its elements") {
  std::mt19937_64 random(5);
  const std::vector<std::byte> good = file_of(dict("'<f4'", "True", "(2, 3)"), 24);
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<std::byte> file = good;
    for (std::uint64_t flips = 1 + random() % 3; flips-- > 0;) {
      file[random() % file.size()] ^= static_cast<std::byte>(1u << random() % 8);
    }
    if (random() % 4 == 0) file.resize(random() % file.size());
    const Result<NpyArray> array = parse_npy("f", file);
    if (!array.ok()) continue;
    ++accepted;
    CHECK(size_bytes(array->type).is(static_cast<std::int64_t>(array->bytes.size())));
  }
  CHECK(accepted > 100);
}

TEST_CASE("a written array is read back, and its file begins as numpy.save begins it") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/a.npy";
  std::vector<std::byte> bytes(48);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 2);
  for (const DType dtype : kAllDTypes) {
    const std::int64_t count = 48 / static_cast<std::int64_t>(size_bytes(dtype));
    for (const Shape& shape : {Shape{count}, Shape{2, 3, count / 6}, Shape{count, 1, 1, 1, 1, 1, 1, 1}}) {
      REQUIRE(write_npy(path, {dtype, shape}, bytes).message() == "");
      const Result<NpyArray> again = read_npy(path);
      REQUIRE_MESSAGE(again.ok(), again.status().message());
      CHECK(again->type == TensorType{dtype, shape});
      CHECK(again->bytes == bytes);
      CHECK(std::filesystem::file_size(path) == 128 + 48);
    }
  }
  REQUIRE(write_npy(path, {DType::kF32, {3}}, std::span(bytes).first(12)).ok());
  std::ifstream file(path, std::ios::binary);
  std::string front(128, ' ');
  file.read(front.data(), 128);
  CHECK(front == std::string("\x93NUMPY\x01\x00v\x00", 10) +
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" + std::string(60, ' ') + "\n");
}

TEST_CASE("a bool is written as 0 or 1, as NumPy has it") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/a.npy";
  REQUIRE(write_npy(path, {DType::kBool, {3}}, std::vector{std::byte{2}, std::byte{0}, std::byte{255}}).ok());
  CHECK(read_npy(path)->bytes == std::vector{std::byte{1}, std::byte{0}, std::byte{1}});
}

TEST_CASE("a file that cannot be written is an error, and leaves nothing behind") {
  TemporaryDirectory directory;
  const std::vector<std::byte> bytes(4);
  CHECK(write_npy(directory.path() + "/none/a.npy", {DType::kF32, {1}}, bytes).message() ==
        "npy '" + directory.path() +
            "/none/a.npy': the file cannot be written: No such file or directory; check the path and the space");
  CHECK(write_npy(directory.path(), {DType::kF32, {1}}, bytes).message() ==
        "npy '" + directory.path() + "': the file cannot be written: Is a directory; check the path and the space");
  CHECK(write_npy("/dev/full", {DType::kF32, {1}}, bytes).message() ==
        "npy '/dev/full': the file cannot be written: No space left on device; check the path and the space");
  CHECK(write_npy("a.npy", {DType::kF32, {2}}, bytes).message() ==
        "npy 'a.npy': 4 bytes given, expected 8 for f32[2]; give every element once");
  CHECK(write_npy("a.npy", {DType::kF32, {Dim("n")}}, bytes).message() ==
        "npy 'a.npy': 4 bytes given, expected 4*n for f32[n]; give every element once");
  CHECK(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace millrace
