// SPDX-License-Identifier: Apache-2.0
// The nodes that composites build, and the kernels that they become: a change here changes every program that calls
// them.
#include <doctest/doctest.h>

#include "millrace/graph/dispatch.h"
#include "tests/graph/dispatch/formed.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

std::string kinds_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : " ") + kind_name(node);
  return text;
}

/// What f(x) of an f32[4x8] becomes.
struct Composite {
  explicit Composite(Tensor (*f)(Tensor x)) {
    GraphBuilder builder;
    builder.output("y", f(builder.input("x", DType::kF32, {4, 8})));
    const Graph graph = builder.finish().value();
    nodes = kinds_of(graph);
    regions = shape_of(formed(graph));
    CompileOptions options;
    options.context = test::test_context();
    options.device = "cpu:baseline";
    num_dispatches = compile(graph, options).value().report().num_dispatches;
  }

  std::string nodes;    // as built
  std::string regions;  // after the passes
  std::size_t num_dispatches = 0;
};

TEST_CASE("relu is a maximum with a constant: one kernel") {
  const Composite made([](Tensor x) { return relu(x); });
  CHECK(made.nodes == "input constant broadcast max");
  CHECK(made.regions == "broadcast max -> 1\n");
  CHECK(made.num_dispatches == 1);
}

TEST_CASE("gelu is an error function between multiplications: one kernel") {
  const Composite made([](Tensor x) { return gelu(x); });
  CHECK(made.nodes == "input constant broadcast mul erf constant broadcast add constant broadcast mul mul");
  CHECK(made.regions == "broadcast mul erf broadcast add broadcast mul mul -> 1\n");
  CHECK(made.num_dispatches == 1);
}

TEST_CASE("softmax is a maximum, an exponential, a sum and one division per row: one kernel") {
  const Composite made([](Tensor x) { return softmax(x); });
  CHECK(made.nodes == "input reduce_max broadcast sub exp reduce_sum constant broadcast div broadcast mul");
  CHECK(made.regions == "reduce_max broadcast sub exp reduce_sum broadcast div broadcast mul -> 1\n");
  CHECK(made.num_dispatches == 1);
}

TEST_CASE("layer_norm is an element near the mean, the mean, the variance and the scaling: one kernel") {
  const Composite made([](Tensor x) {
    Tensor scale = x.builder()->input("scale", DType::kF32, {8});
    return layer_norm(x, scale, x.builder()->input("bias", DType::kF32, {8}));
  });
  CHECK(
      made.nodes ==
      "input input input slice slice slice min max min max broadcast sub reduce_mean broadcast sub broadcast add mul "
      "reduce_mean neg broadcast add broadcast add constant broadcast add rsqrt broadcast mul broadcast mul broadcast "
      "add");
  CHECK(
      made.regions ==
      "slice slice slice min max min max broadcast sub reduce_mean sub broadcast add mul reduce_mean neg broadcast add "
      "add broadcast add rsqrt broadcast mul broadcast mul broadcast add -> 1\n");
  CHECK(made.num_dispatches == 1);
}

}  // namespace
}  // namespace millrace
