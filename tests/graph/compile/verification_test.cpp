// SPDX-License-Identifier: Apache-2.0
// How often one compile verifies each level.
#include "base/verification.h"

#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/passes.h"
#include "millrace/millrace.h"
#include "tests/support/run_graph.h"

namespace millrace {
namespace {

using Tensors = std::vector<Tensor>;
using State = std::span<const Tensor>;

/// "graph 1, dispatch graph 2, ...", without the levels that nothing verified.
std::string to_text(const VerificationCount& count) {
  constexpr std::string_view kNames[] = {"graph",          "dispatch graph", "kernel sequence", "loop kernel",
                                         "machine kernel", "lane function",  "schedule",        "command list"};
  std::string text;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const std::size_t times = count.of(static_cast<IrLevel>(i));
    if (times > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kNames[i], times);
  }
  return text;
}

/// What one compile verifies. It has one thread, so that the count misses nothing.
std::string verified(Graph graph, const char* target = "cpu:avx2") {
  CompileOptions options;
  options.context = test::test_context();
  options.device = "cpu:threads=1";
  options.targets = {target};
  const VerificationCount count;
  const Result<Program> program = compile(std::move(graph), options);
  REQUIRE(program.status().message() == "");
  return to_text(count);
}

Graph one_kernel() {
  GraphBuilder graph;
  graph.output("y", exp(graph.input("x", DType::kF32, {64})));
  return graph.finish().value();
}

Graph prepared_weights() {
  GraphBuilder graph;
  const std::vector<float> weights(64 * 64, 0.5f);
  graph.output("y", matmul(graph.input("x", DType::kF32, {4, 64}), exp(graph.constant({64, 64}, weights))));
  return graph.finish().value();
}

/// A loop, whose condition and body are one body of one region.
Graph looping() {
  GraphBuilder graph;
  const Tensors last = graph.while_loop(
      {graph.input("x", DType::kF32, {64}), graph.fill(DType::kI64, {}, 0)}, [](State s) { return less(s[1], 4); },
      [](State s) { return Tensors{exp(s[0]), s[1] + 1}; });
  graph.output("y", last[0]);
  return graph.finish().value();
}

Graph sorted_sum() {
  GraphBuilder graph;
  graph.output("y", sort(graph.input("x", DType::kF32, {8, 300}) * 2.0).values);
  graph.output("sum", reduce_sum(graph.input("long", DType::kF32, {1 << 22}), {0}));
  return graph.finish().value();
}

TEST_CASE("a release compile verifies each level once" * doctest::skip(kVerifiesSteps)) {
  CHECK(verified(one_kernel()) ==
        "graph 1, dispatch graph 1, kernel sequence 1, loop kernel 1, machine kernel 1, schedule 1, command list 1");
  CHECK(verified(prepared_weights()) == "");
  CHECK(verified(looping()) == "");
  CHECK(verified(sorted_sum(), "cpu:baseline") == "");
  CHECK(verified(sorted_sum()) == "");
}

TEST_CASE("with assertions, a compile verifies what each step made" * doctest::skip(!kVerifiesSteps)) {
  VerificationCount count;
  CHECK(verified(one_kernel()) == "");
  Graph graph = one_kernel();
  const VerificationCount passes;
  REQUIRE(run_passes(graph, kGraphPasses).ok());
  CHECK(passes.of(IrLevel::kGraph) == std::size(kGraphPasses));
}

TEST_CASE("verify_each decides for run_passes() in every build") {
  for (const bool verify_each : {false, true}) {
    Graph graph = one_kernel();
    const VerificationCount count;
    REQUIRE(run_passes(graph, kGraphPasses, {.verify_each = verify_each}).ok());
    CHECK(count.of(IrLevel::kGraph) == (verify_each ? std::size(kGraphPasses) : 0));
  }
}

}  // namespace
}  // namespace millrace
