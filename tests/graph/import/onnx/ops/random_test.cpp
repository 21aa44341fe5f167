// SPDX-License-Identifier: Apache-2.0
// Random numbers: their distributions, their seeds, and the note about a missing seed.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "millrace/graph/compile.h"
#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

using Numbers = std::vector<double>;

constexpr std::int64_t kCount = 4096;

MessageWriter model_of(const std::string& op, std::vector<MessageWriter> attributes) {
  return onnx_model({.nodes = {{op, {}, {"y"}, std::move(attributes), "node"}},
                     .inputs = {},
                     .outputs = {onnx_value("y", kOnnxFloat, {kCount})}});
}

Numbers run_model(const MessageWriter& model, const std::vector<reference::Tensor>& inputs = {}) {
  CompileOptions options;
  options.context = test_context();
  const OnnxModel imported = import_onnx("m", model.file()).value();
  return reference::read_all<double>(run_guarded(compile(imported.graph, options).value(), inputs).value()[0]);
}

double mean_of(const Numbers& x) {
  double sum = 0;
  for (const double each : x) sum += each;
  return sum / static_cast<double>(x.size());
}

double deviation_of(const Numbers& x) {
  double sum = 0;
  for (const double each : x) sum += (each - mean_of(x)) * (each - mean_of(x));
  return std::sqrt(sum / static_cast<double>(x.size()));
}

}  // namespace

TEST_CASE("uniform numbers fill their range, and a seed decides them") {
  const auto draw = [](float seed) {
    return run_model(model_of("RandomUniform", {onnx_ints("shape", {kCount}), onnx_float("low", -2),
                                                onnx_float("high", 6), onnx_float("seed", seed)}));
  };
  const Numbers x = draw(1);
  CHECK(*std::ranges::min_element(x) >= -2);
  CHECK(*std::ranges::max_element(x) <= 6);
  // Five standard errors of 4096 numbers.
  CHECK(std::fabs(mean_of(x) - 2) <= 5 * 2.31 / 64);
  CHECK(std::fabs(deviation_of(x) - 2.31) <= 0.15);
  CHECK(draw(1) == x);
  CHECK(draw(2) != x);
}

TEST_CASE("normal numbers have their mean and scale") {
  const Numbers x = run_model(model_of("RandomNormal", {onnx_ints("shape", {kCount}), onnx_float("mean", 3),
                                                        onnx_float("scale", 2), onnx_float("seed", 1)}));
  CHECK(std::fabs(mean_of(x) - 3) <= 5 * 2.0 / 64);
  CHECK(std::fabs(deviation_of(x) - 2) <= 5 * 2.0 / 90);
  const auto is_far = [](double each) { return std::fabs(each - 3) > 4; };
  const double share = static_cast<double>(std::ranges::count_if(x, is_far)) / kCount;
  CHECK(std::fabs(share - 0.0455) <= 5 * 0.0033);  // beyond two standard deviations
}

TEST_CASE("Bernoulli draws 1 with the probability of each element") {
  const MessageWriter model = onnx_model({.nodes = {{"Bernoulli", {"p"}, {"y"}, {onnx_float("seed", 1)}}},
                                          .inputs = {onnx_value("p", kOnnxFloat, {kCount})},
                                          .outputs = {onnx_value("y", kOnnxFloat, {kCount})}});
  const auto draw = [&](double p) {
    return run_model(model, {reference::make_tensor(DType::kF32, {kCount}, Numbers(kCount, p))});
  };
  CHECK(draw(0) == Numbers(kCount, 0.0));
  CHECK(draw(1) == Numbers(kCount, 1.0));
  CHECK(std::fabs(mean_of(draw(0.25)) - 0.25) <= 5 * 0.0068);
}

TEST_CASE("a node without a seed is noted, and has numbers of its own") {
  const MessageWriter model =
      onnx_model({.nodes = {{"RandomUniform", {}, {"a"}, {onnx_ints("shape", {kCount})}, "first"},
                            {"RandomUniform", {}, {"b"}, {onnx_ints("shape", {kCount})}, "second"},
                            {"Sub", {"a", "b"}, {"y"}}},
                  .inputs = {},
                  .outputs = {onnx_value("y", kOnnxFloat, {kCount})}});
  CHECK(
      import_onnx("m", model.file()).value().notes ==
      std::vector<std::string>{"graph.node[0] (RandomUniform 'first') has no seed: every run draws the same numbers",
                               "graph.node[1] (RandomUniform 'second') has no seed: every run draws the same numbers"});
  CHECK(deviation_of(run_model(model)) > 0.3);
}

}  // namespace millrace::test
