// SPDX-License-Identifier: Apache-2.0
// docs/onnx_ops.md lists the ops of the table.
#include <map>

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

/// Ops of the table whose nodes are always refused, for a reason of their own.
constexpr const char* kRefused[] = {"ImageDecoder", "NonMaxSuppression", "Unique"};

/// The first version of each op that is imported, by name.
std::map<std::string, int> versions_by_op() {
  std::map<std::string, int> versions = {
#define MILLRACE_ONNX_OP(name, since_version, function) {#name, since_version},
#define MILLRACE_ONNX_UNARY(name, since_version, function) {#name, since_version},
#define MILLRACE_ONNX_BINARY(name, since_version, function) {#name, since_version},
#include "graph/import/onnx/onnx_ops.inc"
  };
  for (const char* name : kRefused) versions.erase(name);
  return versions;
}

std::string op_list() {
  constexpr std::size_t kColumns = 3;
  const std::map<std::string, int> versions = versions_by_op();
  std::string text = fmt::format(
      "# ONNX ops\n\nThe {} ops of the default domain that are imported, and the first version of each.\n{} are "
      "refused "
      "with their reasons. A test keeps this list.\n\n",
      versions.size(), fmt::join(kRefused, ", "));
  for (std::size_t i = 0; i < kColumns; ++i) text += "| op | version ";
  text += "|\n";
  for (std::size_t i = 0; i < kColumns; ++i) text += "|---|---";
  text += "|\n";
  std::size_t column = 0;
  for (const auto& [name, version] : versions) {
    text += fmt::format("| {} | {} ", name, version);
    if (++column % kColumns == 0) text += "|\n";
  }
  while (column % kColumns != 0) {
    text += "| | ";
    if (++column % kColumns == 0) text += "|\n";
  }
  return text;
}

TEST_CASE("docs/onnx_ops.md lists every op that is imported, with its first version") {
  CHECK(test::golden_problem(MILLRACE_SOURCE_DIR "/docs/onnx_ops.md", op_list()) == "");
}

TEST_CASE("ops that are known and always refused say why") {
  for (const char* name : kRefused) {
    CAPTURE(name);
    const MessageWriter model = onnx_model({.nodes = {{name, {"x"}, {"y"}}},
                                            .inputs = {onnx_value("x", kOnnxFloat, {4})},
                                            .outputs = {onnx_value("y", kOnnxFloat, {4})}},
                                           20);
    const std::string message = import_onnx("m", model.file()).status().message();
    CHECK(message.find("not supported") != std::string::npos);
    CHECK(message.find("the op is not supported") == std::string::npos);
  }
}

}  // namespace
}  // namespace millrace
