// SPDX-License-Identifier: Apache-2.0
// ONNX models on the command line: import, and commands that take a model in place of a graph.
#include <doctest/doctest.h>

#include "tests/graph/import/onnx/model_writer.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

/// y = x + w for x: f32[n, 20] and a w in the file; z = y in the shape of the i64[2] `shape`.
std::string model_with_shape() {
  const std::vector<float> w(20, 0.25f);
  return onnx_model({.nodes = {{"Add", {"x", "w"}, {"y"}}, {"Reshape", {"y", "shape"}, {"z"}}},
                     .inputs = {onnx_value("x", kOnnxFloat, {"n", 20}), onnx_value("shape", kOnnxInt64, {2})},
                     .outputs = {onnx_value("z", kOnnxFloat, {"a", "b"})},
                     .initializers = {onnx_tensor("w", kOnnxFloat, {20},
                                                  {reinterpret_cast<const char*>(w.data()), w.size() * 4})}})
      .bytes();
}

TEST_CASE("a model is written as a graph whose weights stay in the model, or are copied") {
  const Workplace here;
  here.write("model.onnx", model_with_shape());
  CHECK(here.output_of("import model.onnx -o model.mr --set shape=20,-1") ==
        "model.mr: inputs 1, outputs 1, nodes 5\n");
  CHECK(contains(here.read("model.mr"), "constant(file(\"model.onnx\", "));
  CHECK(contains(here.output_of("run model.mr --input x=ones,3x20"), "z: f32[20x3]\n"));
  here.run_command("mkdir -p sub");
  CHECK(here.run("import model.onnx -o sub/model.mr --set shape=20,-1").exit_code == 0);
  CHECK(contains(here.read("sub/model.mr"), "constant(file(\"../model.onnx\", "));
  CHECK(here.run("import model.onnx -o copied.mr --set shape=20,-1 --copy-weights").exit_code == 0);
  CHECK(contains(here.read("copied.mr"), "constant(file(\"copied.mr.safetensors\", "));
  here.run_command("rm model.onnx");
  CHECK(contains(here.output_of("run copied.mr --input x=ones,3x20"), "z: f32[20x3]\n"));
}

TEST_CASE("a dim of a model gets a number or facts") {
  const Workplace here;
  here.write("model.onnx", model_with_shape());
  CHECK(here.run("import model.onnx -o three.mr --set shape=20,-1 --dim n=3").exit_code == 0);
  CHECK(contains(here.read("three.mr"), "(%x: f32[3x20])"));
  CHECK(here.run("import model.onnx -o some.mr --set shape=20,-1 --dim 'n=rows in 1..8'").exit_code == 0);
  CHECK(contains(here.read("some.mr"), "(%x: f32[rows in 1..8, 20])"));
}

TEST_CASE("run, dump, explain, bench and check take a model as it is") {
  const Workplace here;
  const std::string model = onnx_model({.nodes = {{"Exp", {"x"}, {"y"}}},
                                        .inputs = {onnx_value("x", kOnnxFloat, {4})},
                                        .outputs = {onnx_value("y", kOnnxFloat, {4})}})
                                .bytes();
  here.write("exp.onnx", model);
  CHECK(contains(here.output_of("run exp.onnx --input x=zeros"), "y: f32[4]\n"));
  CHECK(contains(here.output_of("dump exp.onnx --stage graph"), "%y = exp(%x)"));
  CHECK(contains(here.output_of("explain exp.onnx"), "exp"));
  CHECK(here.run("bench exp.onnx --input x=randn --min-time 0.001").exit_code == 0);
  CHECK(contains(here.output_of("check exp.onnx"), "exp.onnx: graph 'main' is valid: inputs 1, outputs 1"));
}

TEST_CASE("mistakes in the options of import are reported whole") {
  const Workplace here;
  here.write("model.onnx", model_with_shape());
  const auto error = [&](const std::string& options) { return here.error_of("import model.onnx -o m.mr " + options); };
  CHECK(error("--set sizes=1") == "millrace: --set sizes=1: unknown input 'sizes'; the model has: x, shape\n");
  CHECK(error("--set shape=1") ==
        "millrace: --set shape=1: found 1 element, expected 2 for i64[2]; or give a file, as shape=@FILE\n");
  CHECK(error("--set shape=1,a") == "millrace: --set shape=1,a: found 'a', expected an element of i64, such as 1\n");
  CHECK(error("--set shape=1,2 --set shape=1,2") ==
        "millrace: --set shape=1,2: 'shape' already has a value; give each input once\n");
  CHECK(error("--set shape=@none.npy") ==
        "millrace: npy 'none.npy': the file cannot be opened: No such file or directory; check the path\n");
  CHECK(error("--dim n=3 --dim n=4") == "millrace: --dim n=4: 'n' already has a size; give each once\n");
  CHECK(here.error_of("import none.onnx -o m.mr") ==
        "millrace: onnx 'none.onnx': the file cannot be opened: No such file or directory; check the path\n");
  CHECK(here.error_of("import model.onnx", 2) == "millrace: --output is required; see 'millrace import --help'\n");
}

}  // namespace
}  // namespace millrace
