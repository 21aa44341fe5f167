// SPDX-License-Identifier: Apache-2.0
// One small program at every level, as text.
#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/golden.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

Program small_program() {
  GraphBuilder graph("small");
  const Tensor x = graph.input("x", DType::kF32, {4, 8});
  graph.output("y", exp(reduce_max(relu(x), {1})));
  graph.output("order", sort(x * 2.0, 1).indices);
  return compile(graph.finish().value(), {.device = "cpu:baseline", .context = test::test_context()}).value();
}

TEST_CASE("each level of a program prints itself") {
  const Program program = small_program();
  CHECK(test::golden_problem("program_graph.txt", program.to_text(Stage::kGraph)) == "");
  CHECK(test::golden_problem("program_dispatch.txt", program.to_text(Stage::kDispatch)) == "");
  CHECK(test::golden_problem("program_plan.txt", program.to_text(Stage::kPlan)) == "");
  CHECK(test::golden_problem("program_schedule.txt", program.to_text(Stage::kSchedule)) == "");
  CHECK(test::golden_problem("program_commands.txt", program.to_text(Stage::kCommands)) == "");
}

}  // namespace
}  // namespace millrace
