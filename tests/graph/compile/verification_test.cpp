// SPDX-License-Identifier: Apache-2.0
// How often one compile verifies each level.
#include "base/verification.h"

#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/passes.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

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

/// What one compile verifies. All of it is on this thread.
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
  const Tensor w = graph.constant({64, 64}, std::vector<float>(64 * 64, 0.5f));
  graph.output("y", matmul(graph.input("x", DType::kF32, {4, 64}), matmul(w, w)));
  return graph.finish().value();
}

Graph looping() {
  GraphBuilder graph;
  const Tensors last = graph.while_loop(
      {graph.input("x", DType::kF32, {64}), graph.fill(DType::kI64, {}, 0)}, [](State s) { return less(s[1], 4); },
      [](State s) { return Tensors{exp(s[0]), s[1] + 1}; });
  graph.output("y", last[0]);
  return graph.finish().value();
}

/// Two regions; the sort reads what it sorts through a load.
Graph sort_and_sum() {
  GraphBuilder graph;
  graph.output("y", sort(graph.input("x", DType::kF32, {8, 300}) * 2.0).values);
  graph.output("sum", reduce_sum(graph.input("long", DType::kF32, {1 << 22}), {0}));
  return graph.finish().value();
}

TEST_CASE("a release compile verifies each level once" * doctest::skip(kVerifiesSteps)) {
  CHECK(verified(one_kernel()) ==
        "graph 1, dispatch graph 1, kernel sequence 1, loop kernel 1, machine kernel 1, schedule 1, command list 1");
  // Two programs, made from one graph. xbyak takes their kernels as they are.
  CHECK(verified(prepared_weights()) ==
        "graph 1, dispatch graph 2, kernel sequence 2, loop kernel 2, schedule 2, command list 2");
  // The graph and its body. The device validates the whole list, and the three parts into which it cuts it.
  CHECK(verified(looping()) ==
        "graph 1, dispatch graph 2, kernel sequence 2, loop kernel 2, machine kernel 2, schedule 2, command list 4");
  // The load is stored for the sort. The sum has two kernels, made of one nest.
  CHECK(verified(sort_and_sum(), "cpu:baseline") ==
        "graph 1, dispatch graph 1, kernel sequence 2, loop kernel 2, machine kernel 4, schedule 1, command list 1");
  // The sort's kernel, by lanes, reads through the load.
  CHECK(verified(sort_and_sum()) ==
        "graph 1, dispatch graph 1, kernel sequence 2, loop kernel 2, machine kernel 2, schedule 1, command list 1");
}

TEST_CASE("with assertions, a compile also verifies what its steps made" * doctest::skip(!kVerifiesSteps)) {
  CHECK(verified(one_kernel()) ==
        "graph 7, dispatch graph 1, kernel sequence 2, loop kernel 3, machine kernel 2, schedule 1, command list 2");
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
