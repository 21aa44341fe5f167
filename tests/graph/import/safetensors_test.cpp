// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>

#include "millrace/base/file.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> file(8 + header.size() + data_bytes);
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, header.data(), header.size());
  for (std::size_t i = 0; i < data_bytes; ++i) file[8 + header.size() + i] = static_cast<std::byte>(i);
  return file;
}

const std::string kGood =
    R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"n":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})";

std::string error_of(const std::string& header, std::size_t data_bytes = 9) {
  return Safetensors::parse("f", file_of(header, data_bytes)).status().message();
}

TEST_CASE("entries have their type and bytes") {
  const Safetensors file = Safetensors::parse("f", file_of(kGood, 9)).value();
  CHECK(file.entries().size() == 2);
  const Safetensors::Entry w = file.get("w").value();
  CHECK(w.type.to_text() == "f32[2x1]");
  REQUIRE(w.bytes.size() == 8);
  CHECK(w.bytes[7] == std::byte{7});
  CHECK(file.get("n").value().bytes[0] == std::byte{8});
}

TEST_CASE("a mistake in a file is reported with the tensor and the values") {
  CHECK(Safetensors::parse("f", {}).status().message() ==
        "safetensors 'f': has 0 bytes, expected at least 8 for the header's length");
  std::vector<std::byte> cut = file_of(kGood, 9);
  cut.resize(100);
  CHECK(Safetensors::parse("f", cut).status().message() ==
        "safetensors 'f': a header of 132 bytes, but 92 bytes follow; is it a safetensors file?");
  CHECK(error_of("[]") == "safetensors 'f': the header is not a JSON object");
  CHECK(error_of(R"({"w":3,"v":{"w":1},"w":3})") == "safetensors 'f': the header has 'w' twice");
  CHECK(error_of("{,") == "safetensors 'f': the header is not a JSON object");
  CHECK(error_of(R"({"w":3})") == "safetensors 'f': 'w': the entry is not a JSON object");
  CHECK(error_of(R"({"w":{"shape":[1]}})") == "safetensors 'f': 'w': has no dtype");
  CHECK(error_of(R"({"w":{"dtype":"F8","shape":[1]}})") ==
        "safetensors 'f': 'w': dtype 'F8' is not known; convert the tensor");
  CHECK(error_of(R"({"w":{"dtype":"\n\u009b","shape":[1]}})") ==
        "safetensors 'f': 'w': dtype '\\n\\xc2\\x9b' is not known; convert the tensor");
  CHECK(error_of(R"({"w":{"dtype":"F32","shape":[-1]}})") == "safetensors 'f': 'w': shape is not a list of sizes");
  CHECK(error_of(R"({"w":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1]}})") ==
        "safetensors 'f': 'w': rank 9, expected at most 8");
  CHECK(error_of(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296,4294967296]}})") ==
        "safetensors 'f': 'w': the shape has more than 2^48 elements");
  CHECK(error_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4]}})") ==
        "safetensors 'f': 'w': data_offsets is not a pair of offsets");
  CHECK(error_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})") ==
        "safetensors 'f': 'w': data_offsets [8, 12] are not within the 9 data bytes");
  CHECK(error_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})") ==
        "safetensors 'f': 'w': holds 4 bytes, expected 8 for f32[2]");
  CHECK(error_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8) ==
        "safetensors 'f': bytes [0, 4) belong to no tensor, expected each byte in one; write the file anew");
  CHECK(error_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8) ==
        "safetensors 'f': bytes [4, 8) belong to no tensor, expected each byte in one; write the file anew");
  CHECK(error_of(R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                 R"("w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                 12) ==
        "safetensors 'f': bytes [4, 8) belong to two tensors, expected each byte in one; write the file anew");
  CHECK(error_of(R"({"m":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", 3) ==
        "safetensors 'f': 'm': has a bool that is neither 0 nor 1; save it as .to(torch.bool)");
  CHECK(Safetensors::read("/nowhere/f").status().message() ==
        "safetensors '/nowhere/f': the file cannot be opened: No such file or directory; check the path");
  CHECK(Safetensors::parse("f", file_of(kGood, 9)).value().get("v").status().message() ==
        "safetensors 'f': has no 'v'; it has: n, w");
}

TEST_CASE("in a header, the last member of a name counts, and unknown ones are skipped") {
  const auto type_of = [](const std::string& entry) {
    const auto file = Safetensors::parse("f", file_of("{\"w\":" + entry + "}", 8));
    return file.ok() ? file->entries().at("w").type.to_text() : file.status().message();
  };
  const std::string kOffsets = R"(,"data_offsets":[0,8]})",
                    kNoList = "safetensors 'f': 'w': shape is not a list of sizes";
  CHECK(type_of(R"({"dtype":"F32","shape":[2])" + kOffsets) == "f32[2]");
  CHECK(type_of(R"({"more":{"dtype":"U8","shape":[9]},"list":[1,[2,"F64"]],"dtype":"F32","shape":[2])" + kOffsets) ==
        "f32[2]");
  CHECK(type_of(R"({"dtype":"F32","shape":[2],"more":[{"shape":[3]},4],"x":-1.5,"y":null,"z":true)" + kOffsets) ==
        "f32[2]");
  CHECK(type_of(R"({"dtype":"U8","shape":[2,"x"],"dtype":"F32","shape":[2])" + kOffsets) == "f32[2]");
  CHECK(type_of(R"({"dtype":"F32","shape":[2],"dtype":[])" + kOffsets) == "safetensors 'f': 'w': has no dtype");
  CHECK(type_of(R"(["dtype","F32"])") == "safetensors 'f': 'w': the entry is not a JSON object");
  for (const char* shape : {"[2,-1]", "[2,1.0]", "[2,[1]]", "[2,{}]", "[2,null]", "[true]", R"(["2"])", "2", "{}",
                            R"({"0":2})", "[18446744073709551616]"}) {
    CAPTURE(shape);
    CHECK(type_of(R"({"dtype":"F32","shape":)" + std::string(shape) + kOffsets) == kNoList);
  }
  CHECK(error_of(R"([{"w":{"dtype":"F32"}}])") == "safetensors 'f': the header is not a JSON object");
  CHECK(error_of(std::string(1'000'000, '[')) == "safetensors 'f': the header is not a JSON object");
}

TEST_CASE("a file's header is checked before its data is read, however long the data is") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/f", where = "safetensors '" + path + "': ";
  const auto error_of_file = [&](std::span<const std::byte> front) {
    REQUIRE(write_file("f", path, std::array{front}).ok());
    std::filesystem::resize_file(path, std::uintmax_t{8} << 40);
    return Safetensors::read(path).status().message();
  };
  std::vector<std::byte> front(8);
  CHECK(error_of_file(front) == where + "the header is not a JSON object");
  std::uint64_t length = 100'000'001;
  std::memcpy(front.data(), &length, 8);
  CHECK(error_of_file(front) ==
        where + "a header of 100000001 bytes, expected at most 100000000; is it a safetensors file?");
  length = std::uint64_t{1} << 60;
  std::memcpy(front.data(), &length, 8);
  CHECK(error_of_file(front) ==
        where + "a header of 1152921504606846976 bytes, but 8796093022200 bytes follow; is it a safetensors file?");
  CHECK(error_of_file(file_of(kGood, 9)) ==
        where + "bytes [9, 8796093022068) belong to no tensor, expected each byte in one; write the file anew");
}

TEST_CASE("a pipe is read as a file is, and one that holds more or less is refused") {
  const auto read_from_pipe = [](std::span<const std::byte> bytes) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    REQUIRE(write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    close(ends[1]);
    const std::string path = "/dev/fd/" + std::to_string(ends[0]);
    Result<Safetensors> found = Safetensors::read(path);
    close(ends[0]);
    const std::string& message = found.status().message();
    return found.ok() ? std::to_string(found->get("w")->bytes.size()) : message.substr(message.find("': ") + 3);
  };
  CHECK(read_from_pipe(file_of(kGood, 9)) == "8");
  CHECK(read_from_pipe(file_of(kGood, 8)) == "holds 8 data bytes, expected 9; is the file complete?");
  CHECK(read_from_pipe(file_of(kGood, 100)) == "holds 10 data bytes or more, expected 9; is the file complete?");
  CHECK(read_from_pipe(std::vector<std::byte>(5)) == "has 5 bytes, expected at least 8 for the header's length");
  CHECK(read_from_pipe(file_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4)) ==
        "'w': data_offsets [4, 0] are not in order");
}

TEST_CASE("written tensors are read back, in every dtype") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/w.safetensors";
  std::vector<std::byte> bytes(48);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 2);
  std::map<std::string, Safetensors::Entry> entries;
  for (const DType dtype : kAllDTypes) {
    const std::int64_t count = 48 / static_cast<std::int64_t>(size_bytes(dtype));
    entries["\"" + std::string(to_text(dtype))] = {{dtype, {2, count / 2}}, bytes};
  }
  entries["scalar"] = {{DType::kF16, {}}, std::span(bytes).first(2)};
  entries["nothing"] = {{DType::kI64, {0, 3}}, {}};
  REQUIRE(write_safetensors(path, entries).message() == "");
  const Safetensors file = Safetensors::read(path).value();
  CHECK(file.entries().size() == entries.size());
  for (const auto& [name, entry] : entries) {
    const Safetensors::Entry again = file.get(name).value();
    CHECK(again.type == entry.type);
    CHECK(std::ranges::equal(again.bytes, entry.bytes));
  }
}

TEST_CASE("shared bytes are the file's own, and outlive the object and the file's name") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/w.safetensors";
  const std::vector<float> values = {1, 2, 3};
  const auto bytes = std::as_bytes(std::span(values));
  REQUIRE(write_safetensors(path, {{"w", {{DType::kF32, {3}}, bytes}}}).ok());
  std::optional<Safetensors> file = Safetensors::read(path).value();
  const Safetensors::Entry entry = file->get("w").value();
  CHECK(entry.shared_bytes().data() == entry.bytes.data());
  const SharedBytes shared = entry.shared_bytes();
  file.reset();
  REQUIRE(write_safetensors(path, {{"w", {{DType::kF32, {1}}, bytes.first(4)}}}).ok());
  CHECK(std::ranges::equal(shared, bytes));
}

TEST_CASE("a bool is written as 0 or 1") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/w.safetensors";
  const std::vector bytes{std::byte{2}, std::byte{0}, std::byte{255}};
  REQUIRE(write_safetensors(path, {{"m", {{DType::kBool, {3}}, bytes}}}).message() == "");
  const Safetensors file = Safetensors::read(path).value();
  CHECK(std::ranges::equal(file.get("m")->bytes, std::vector{std::byte{1}, std::byte{0}, std::byte{1}}));
}

TEST_CASE("tensors that cannot be written are refused") {
  const std::vector<std::byte> bytes(4);
  CHECK(write_safetensors("w", {{"a", {{DType::kF32, {2}}, bytes}}}).message() ==
        "safetensors 'w': 'a': 4 bytes given, expected 8 for f32[2]; give every element once");
  CHECK(
      write_safetensors("/nowhere/w", {}).message() ==
      "safetensors '/nowhere/w': the file cannot be written: No such file or directory; check the path and the space");
}

TEST_CASE("no damage is fatal, and accepted tensors stay inside the file") {
  std::mt19937_64 random(5);
  const std::vector<std::byte> good = file_of(kGood, 9);
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<std::byte> file = good;
    for (std::uint64_t flips = 1 + random() % 3; flips-- > 0;) {
      file[random() % file.size()] ^= static_cast<std::byte>(1u << random() % 8);
    }
    if (random() % 4 == 0) file.resize(random() % file.size());
    const Result<Safetensors> result = Safetensors::parse("f", file);
    if (!result.ok()) continue;
    ++accepted;
    std::size_t sum = 0;
    for (const auto& [name, entry] : result->entries()) {
      for (std::byte byte : entry.bytes) sum += static_cast<std::size_t>(byte);  // the sanitizer watches these reads
      CHECK(size_bytes(entry.type).is(static_cast<std::int64_t>(entry.bytes.size())));
    }
    CHECK(sum < 1'000'000);
  }
  CHECK(accepted > 100);
}

}  // namespace
}  // namespace millrace
