// SPDX-License-Identifier: Apache-2.0
// The program of docs/onnx.md.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "millrace/graph/onnx.h"
#include "millrace/millrace.h"
#include "tests/docs/onnx_model.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

TEST_CASE("onnx.md: a model in a file runs") {
  const TemporaryDirectory directory;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  std::ofstream("model.onnx", std::ios::binary) << test::softmax_model();

  const OnnxModel model = import_onnx("model.onnx").value();
  Session session = Session::create(compile(model.graph).value()).value();
  const std::vector<float> x(8 * 10, 2.5f);
  std::vector<float> y(8 * 10);
  session.run({bind("x", x, {8, 10})}, {bind("y", y)}).throw_if_error();

  for (const float probability : y) CHECK(probability == doctest::Approx(0.1));
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace millrace
