// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, removed in the end. Its name is in no message that is compared.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "millrace_onnx_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, std::string_view bytes) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << bytes;
  }
  fs::path path;
};

struct Entry {
  std::string key, value;
};

/// A model with one constant, f32[2], whose elements are where the entries say.
MessageWriter external_model(const std::vector<Entry>& entries) {
  MessageWriter tensor = MessageWriter().integer(1, 2).integer(2, kOnnxFloat).text(8, "c").integer(14, 1);
  for (const Entry& entry : entries) tensor.message(13, MessageWriter().text(1, entry.key).text(2, entry.value));
  return onnx_model({.nodes = {{"Neg", {"c"}, {"y"}}},
                     .inputs = {},
                     .outputs = {onnx_value("y", kOnnxFloat, {2})},
                     .initializers = {tensor}});
}

/// What is wrong with the constant; empty if it can be imported.
std::string problem_of(const Folder& folder, const std::vector<Entry>& entries, const OnnxOptions& options = {}) {
  folder.write("models/m.onnx", external_model(entries).bytes());
  const fs::path path = folder.path / "models" / "m.onnx";
  const std::string message = import_onnx(path.string(), options).status().message();
  const std::string first =
      fmt::format("onnx '{}': 1 part cannot be imported:\n  graph.initializer[0] 'c': ", path.string());
  if (message.empty()) return message;
  REQUIRE(message.starts_with(first));
  return message.substr(first.size());
}

constexpr std::string_view kTwoFloats{"\0\0\x80\x3f\0\0\0\x40", 8};

}  // namespace

TEST_CASE("ONNX: external data are found next to the model, in its subfolders and in allowed folders") {
  const Folder folder;
  folder.write("models/w.bin", kTwoFloats);
  folder.write("models/sub/w.bin", kTwoFloats);
  folder.write("other/o.bin", kTwoFloats);
  CHECK(problem_of(folder, {{"location", "w.bin"}}) == "");
  CHECK(problem_of(folder, {{"location", "sub/w.bin"}, {"offset", "0"}, {"length", "8"}}) == "");
  CHECK(problem_of(folder, {{"location", "o.bin"}}, {.data_folders = {(folder.path / "other").string()}}) == "");
}

TEST_CASE("ONNX: external data outside the model's folder are refused") {
  const Folder folder;
  folder.write("other/o.bin", kTwoFloats);
  folder.write("models/w.bin", kTwoFloats);
  fs::create_symlink(folder.path / "other" / "o.bin", folder.path / "models" / "link.bin");
  fs::create_directory_symlink(folder.path / "other", folder.path / "models" / "linked");
  fs::create_directory(folder.path / "models" / "folder");
  for (const char* location : {"../other/o.bin", "sub/../../other/o.bin", "/etc/hostname", ""}) {
    CHECK(problem_of(folder, {{"location", location}}) ==
          fmt::format("external data are in '{}', expected a relative path without '..'", location));
  }
  for (const char* location : {"link.bin", "linked/o.bin", "folder", "absent.bin"}) {
    CHECK(problem_of(folder, {{"location", location}}) ==
          fmt::format("external data are in '{}', which is not a regular file in the model's folder; allow its "
                      "folder",
                      location));
  }
}

TEST_CASE("ONNX: a link to a file in the folder of the model's own file is followed, as in a cache of links") {
  const Folder folder;
  folder.write("blobs/w", kTwoFloats);
  folder.write("blobs/m", external_model({{"location", "w.bin"}}).bytes());
  fs::create_directory(folder.path / "snapshot");
  fs::create_symlink(folder.path / "blobs" / "w", folder.path / "snapshot" / "w.bin");
  fs::create_symlink(folder.path / "blobs" / "m", folder.path / "snapshot" / "m.onnx");
  CHECK(import_onnx((folder.path / "snapshot" / "m.onnx").string()).status().message() == "");
}

TEST_CASE("ONNX: offsets and lengths that the external file does not have are refused") {
  const Folder folder;
  folder.write("models/w.bin", kTwoFloats);
  const auto with = [&](std::string key, std::string value) {
    return problem_of(folder, {{"location", "w.bin"}, {std::move(key), std::move(value)}});
  };
  CHECK(with("offset", "9") == "external data are 0 bytes at offset 9 of 'w.bin', which has 8 bytes");
  CHECK(with("length", "9") == "external data are 9 bytes at offset 0 of 'w.bin', which has 8 bytes");
  CHECK(with("length", "18446744073709551615") ==
        "external data are 18446744073709551615 bytes at offset 0 of 'w.bin', which has 8 bytes");
  CHECK(with("length", "4") == "holds 4 bytes of elements, expected 8 for f32[2]; is the file complete?");
  CHECK(with("offset", "-1") == "external data has the offset '-1', expected a number");
  CHECK(with("length", "18446744073709551616") ==
        "external data has the length '18446744073709551616', expected a number");
  CHECK(with("format", "zip") == "external data has the key 'format', expected location, offset, length or checksum");
}

}  // namespace millrace
