// SPDX-License-Identifier: Apache-2.0
// Whole networks of real sizes against the oracle: they make tiling real.
#include <cmath>

#include <doctest/doctest.h>

#include "millrace/hal/target_spec.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/squeezenet.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

std::vector<reference::Tensor> run_once(const Program& program, std::span<const reference::Tensor> inputs) {
  Session session = Session::create(program).value();
  std::vector<TensorBinding> in, out;
  for (const reference::Tensor& input : inputs) in.push_back(bind(input.bytes));
  std::vector<reference::Tensor> outputs;
  for (const Argument& argument : program.outputs()) outputs.emplace_back(argument.type);
  for (reference::Tensor& output : outputs) out.push_back(bind(output.bytes));
  const Status status = session.run(in, out);
  REQUIRE_MESSAGE(status.ok(), status.message());
  return outputs;
}

double largest_difference(const reference::Tensor& a, const reference::Tensor& b) {
  const std::vector<double> x = reference::read_all<double>(a), y = reference::read_all<double>(b);
  REQUIRE(x.size() == y.size());
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::fabs(x[i] - y[i]);
    largest = difference <= largest ? largest : difference;  // a NaN stays
  }
  return largest;
}

std::shared_ptr<const Context> uncached() { return make_default_context({.cache_directory = ""}); }

TEST_CASE("SqueezeNet on a 224x224 image equals the oracle, on every ISA level" * test::Sliced()) {
  const Graph graph = build_squeezenet(1);
  const reference::Tensor image = random_tensor(graph.type({graph.inputs[0], 0}), -2, 2, 7);
  const std::vector<reference::Tensor> expected = evaluate_graph(graph, std::span(&image, 1));
  for (IsaLevel isa : host_isa_levels()) {
    CAPTURE(std::string(to_text(isa)));
    const Result<Program> program =
        compile(graph, {.device = "cpu:" + std::string(to_text(isa)), .context = uncached()});
    REQUIRE_MESSAGE(program.ok(), program.status().message());
    const std::vector<reference::Tensor> found = run_once(*program, std::span(&image, 1));
    CHECK(largest_difference(found[0], expected[0]) < 1e-5);
    CHECK(largest_difference(found[1], expected[1]) < 1e-5);
    CHECK(found[2].bytes == expected[2].bytes);
  }
}

TEST_CASE("a 3x3 convolution of 64 channels of 56x56 equals the oracle, on every ISA level") {
  GraphBuilder builder;
  Tensor x = builder.input("x", DType::kF32, {1, 64, 56, 56});
  Tensor w = builder.input("w", DType::kF32, {64, 64, 3, 3});
  builder.output("y", conv2d(x, w, {.padding = {1, 1, 1, 1}}));
  const Graph graph = builder.finish().value();
  const std::vector<reference::Tensor> inputs = {random_tensor(graph.type({graph.inputs[0], 0}), -1, 1, 3),
                                                 random_tensor(graph.type({graph.inputs[1], 0}), -1, 1, 4)};
  const std::vector<reference::Tensor> expected = evaluate_graph(graph, inputs);
  for (IsaLevel isa : host_isa_levels()) {
    CAPTURE(std::string(to_text(isa)));
    const Result<Program> program =
        compile(graph, {.device = "cpu:" + std::string(to_text(isa)), .context = uncached()});
    REQUIRE_MESSAGE(program.ok(), program.status().message());
    // 576 products of magnitude at most 1: 576 * 576 * 2^-24 bounds the error; it is far below.
    CHECK(largest_difference(run_once(*program, inputs)[0], expected[0]) < 1e-3);
  }
}

}  // namespace
}  // namespace millrace
