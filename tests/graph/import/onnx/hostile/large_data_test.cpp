// SPDX-License-Identifier: Apache-2.0
// Weights that are larger than the memory that there may be: they stay in their file until something uses them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/process_memory.h"

namespace millrace {
namespace {

constexpr std::int64_t kSide = 8192;
constexpr std::int64_t kWeightBytes = kSide * kSide * 4;  // 256 MiB
constexpr std::int64_t kNumWeights = 9;                   // 2.25 GiB
constexpr std::int64_t kOnnxInt8 = 3, kOnnxHalf = 10;

/// A constant of kWeightBytes, the one with this number in w.bin.
MessageWriter weight(std::string_view name, std::int64_t type, std::int64_t num_rows, std::int64_t number) {
  MessageWriter tensor = MessageWriter().integer(1, num_rows).integer(1, kSide).integer(2, type).text(8, name);
  const auto add = [&](std::string_view key, std::string_view value) {
    tensor.message(13, MessageWriter().text(1, key).text(2, value));
  };
  add("location", "w.bin");
  add("offset", std::to_string(number * kWeightBytes));
  add("length", std::to_string(kWeightBytes));
  return tensor.integer(14, 1);
}

/// Uses weights in the ways that models do: as they are, transposed, converted, and as tables.
MessageWriter large_model() {
  return onnx_model(
      {.nodes = {{"MatMul", {"x", "w0"}, {"a"}},
                 {"Gemm", {"a", "w1"}, {"b"}, {onnx_int("transB", 1)}},
                 {"Cast", {"half"}, {"w2"}, {onnx_int("to", kOnnxFloat)}},
                 {"Gemm", {"b", "w2"}, {"c"}, {onnx_int("transB", 1)}},  // f32[n, 16384]
                 {"DequantizeLinear", {"bytes", "scale"}, {"w3"}},
                 {"Gather", {"w3", "rows"}, {"d"}},
                 {"Gather", {"table", "rows"}, {"e"}},
                 {"Transpose", {"w4"}, {"w4t"}, {onnx_ints("perm", {1, 0})}},
                 {"MatMul", {"x", "w4t"}, {"f"}},
                 {"Reshape", {"w5", "flat"}, {"w5f"}},
                 {"Gather", {"w5f", "rows"}, {"g"}},
                 {"Add", {"w6", "scale"}, {"w6s"}},
                 {"Concat", {"w7", "w6s"}, {"w8"}, {onnx_int("axis", 0)}},
                 {"Gather", {"w8", "rows"}, {"h"}}},
       .inputs = {onnx_value("x", kOnnxFloat, {"n", kSide}), onnx_value("rows", kOnnxInt64, {"m"})},
       .outputs = {MessageWriter().text(1, "c"), MessageWriter().text(1, "d"), MessageWriter().text(1, "e"),
                   MessageWriter().text(1, "f"), MessageWriter().text(1, "g"), MessageWriter().text(1, "h")},
       .initializers = {weight("w0", kOnnxFloat, kSide, 0), weight("w1", kOnnxFloat, kSide, 1),
                        weight("half", kOnnxHalf, 2 * kSide, 2), weight("bytes", kOnnxInt8, 4 * kSide, 3),
                        weight("table", kOnnxInt64, kSide / 2, 4), weight("w4", kOnnxFloat, kSide, 5),
                        weight("w5", kOnnxFloat, kSide, 6), weight("w6", kOnnxFloat, kSide, 7),
                        weight("w7", kOnnxFloat, kSide, 8), onnx_tensor("scale", {}, std::vector<float>{0.5f}),
                        onnx_tensor("flat", {1}, std::vector<std::int64_t>{-1})}});
}

}  // namespace

TEST_CASE("ONNX: 2.25 GiB of external data are imported without being read") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/m.onnx", data = directory.path() + "/w.bin";
  std::ofstream(path, std::ios::binary) << large_model().bytes();
  std::ofstream(data, std::ios::binary).close();
  std::filesystem::resize_file(data, std::uint64_t{kNumWeights * kWeightBytes});  // zeros that take no space
  malloc_trim(0);
  const bool is_peak_known = test::forget_peak();
  const std::int64_t before = test::status_bytes("VmRSS");
  const Result<OnnxModel> model = import_onnx(path);
  // Pages of the file that were read count too.
  const std::int64_t peak = test::status_bytes(is_peak_known ? "VmHWM" : "VmRSS");
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  CHECK(peak - before < std::int64_t{50} << 20);

  const auto is_data = [](const MappedFile& file) { return file.path.ends_with("w.bin"); };
  std::vector<std::int64_t> offsets;
  for (const Node& node : model->graph.nodes) {
    const auto* constant = std::get_if<ConstantNode>(&node.what);
    if (constant == nullptr || constant->data.size() < std::size_t{kWeightBytes}) continue;
    for (const MappedFile& file : model->files) {
      const std::optional<std::size_t> offset = file.offset_of(constant->data);
      if (is_data(file) && offset) offsets.push_back(static_cast<std::int64_t>(*offset));
    }
  }
  std::ranges::sort(offsets);
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < kNumWeights; ++i) expected.push_back(i * kWeightBytes);
  CHECK(offsets == expected);
  if (!is_peak_known) return;
  // The peak would show if a quarter of one weight were read.
  std::size_t sum = 0;
  const SharedBytes& bytes = std::ranges::find_if(model->files, is_data)->bytes;
  for (std::int64_t i = 0; i < kWeightBytes / 4; i += 4096) sum += std::to_integer<std::size_t>(bytes.data()[i]);
  CHECK(sum == 0);
  CHECK(test::status_bytes("VmHWM") - before > std::int64_t{50} << 20);
}

}  // namespace millrace
