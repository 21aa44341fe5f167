// SPDX-License-Identifier: Apache-2.0
// Files of tensors that are larger than memory, and a lack of memory while one is read or written.
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/file.h"
#include "millrace/millrace.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/fail_each_allocation.h"

namespace millrace {
namespace {

TEST_CASE("a file that is larger than memory is refused with its size, or mapped, and none of it is read") {
  const TemporaryDirectory directory;
  constexpr std::uintmax_t kBytes = std::uintmax_t{4} << 40;
  const auto write = [&](const std::string& name, const std::string& front) {
    const std::string path = directory.path() + "/" + name;
    REQUIRE(write_file("test", path, front).ok());
    std::filesystem::resize_file(path, front.size() + kBytes);
    return path;
  };
  const auto little_endian = [](auto number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const std::string kEnd = "4398046511104 bytes: out of memory; free memory, or ask for less";
  const std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (4398046511104,), }";
  const std::string npy =
      write("w.npy", std::string("\x93NUMPY\1\0", 8) + little_endian(static_cast<std::uint16_t>(dict.size())) + dict);
  const std::string json = R"({"w":{"dtype":"U8","shape":[4398046511104],"data_offsets":[0,4398046511104]}})";
  const std::string tensors = write("w.safetensors", little_endian(std::uint64_t{json.size()}) + json);
  const std::string graph = write("w.mr", "");
  const auto check = [](const Status& status, const std::string& message) {
    CHECK(status.code() == StatusCode::kResourceExhausted);
    CHECK(status.message() == message);
  };
  check(read_npy(npy).status(), "npy '" + npy + "': " + kEnd);
  check(NpyReader::open(npy).value().read().status(), "npy '" + npy + "': " + kEnd);
  CHECK(Safetensors::read(tensors)->get("w")->bytes.size() == kBytes);
  check(read_graph(graph).status(), "graph '" + graph + "': " + kEnd);
  CHECK(NpyReader::open(npy).value().map()->bytes.size() == kBytes);
  const std::string text = "graph g() { %c = constant(file(\"w.npy\")) return c = %c }";
  CHECK(parse_graph(text, {.name = "g.mr", .directory = directory.path()}).status().message() == "");
}

TEST_CASE("reading a file of tensors survives a lack of memory anywhere") {
  const TemporaryDirectory directory;
  const std::string npy = directory.path() + "/w.npy", tensors = directory.path() + "/w.safetensors";
  const std::vector<std::byte> bytes(24);
  const TensorType type{DType::kF32, {2, 3}};
  const std::string name = "a name that is too long to be kept in place";
  REQUIRE(write_npy(npy, type, bytes).ok());
  REQUIRE(write_safetensors(tensors, {{name, {type, bytes}}, {"v", {type, bytes}}}).ok());
  const auto read = [&](int) { return Safetensors::read(tensors).status(); };
  check_said(fail_each_allocation(nothing, read), "safetensors '" + tensors + "'");
  check_said(fail_each_allocation(nothing, [&](int) { return read_npy(npy).status(); }), "npy '" + npy + "'");
  // What is wrong with a header is met while others of its parts are held.
  const std::string header = R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[[[1,2]]],"data_offsets":)"
                             R"([0,{"x":[1,2,3,4,5,6,7,8]}]},"v":{"dtype":"F32","shape":[1,2,3,4,5,6]},)";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  file += header;
  fail_each_allocation(
      [&] {
        const auto all = std::as_bytes(std::span(file));
        return std::vector<std::byte>(all.begin(), all.end());
      },
      [](std::vector<std::byte> given) {
        const Status status = Safetensors::parse("f", std::move(given)).status();
        return status.code() == StatusCode::kDataLoss ? Status() : status;
      });
}

TEST_CASE("a lack of memory to write a file is reported with its path, control characters escaped") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a\nb", where = directory.path() + "/a\\nb'";
  const std::vector<std::byte> bytes(4);
  const TensorType type{DType::kF32, {1}};
  const std::map<std::string, Safetensors::Entry> entries = {{"w", {type, bytes}}};
  const auto count_said = [&](const std::string& expected, auto write) {
    int num_said = 0;
    bool is_written = false;
    for (std::uint64_t before = 0; !is_written && before < 1000; ++before) {
      Status status;
      {
        const FailingAllocation failing(before);
        status = write();
      }
      is_written = status.ok();
      if (is_written) continue;
      CHECK(status.message() == expected);
      ++num_said;
    }
    CHECK(is_written);
    return num_said;
  };
  const std::string end = ": out of memory; free memory, or ask for less";
  CHECK(count_said("npy '" + where + end, [&] { return write_npy(path, type, bytes); }) > 0);
  CHECK(count_said("safetensors '" + where + end, [&] { return write_safetensors(path, entries); }) > 0);
}

}  // namespace
}  // namespace millrace
