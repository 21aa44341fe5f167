// SPDX-License-Identifier: Apache-2.0
// lower_graph(), which shows a graph on its way to a program.
#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

constexpr Stage kStages[] = {Stage::kGraph, Stage::kDispatch, Stage::kKernels,
                             Stage::kPlan,  Stage::kSchedule, Stage::kCommands};

/// Three dispatches: two that depend on one another, and one that does not.
Graph three_dispatches() {
  GraphBuilder builder("three");
  Tensor x = builder.input("x", DType::kF32, {4, 8});
  builder.output("y", reduce_sum(softmax(x), {0}));
  builder.output("z", transpose(x, {1, 0}) + 1.0);
  return builder.finish().value();
}

CompileOptions usual() {
  CompileOptions options;
  options.context = test::test_context();
  return options;
}

TEST_CASE("a graph is lowered as compile() lowers it") {
  const CompileOptions options = usual();
  const Program program = compile(three_dispatches(), options).value();
  const LoweredGraph lowered = lower_graph(three_dispatches(), options.context->target("cpu").value()).value();
  for (const Stage stage : kStages) CHECK(to_text(lowered, stage) == program.to_text(stage));
  CHECK(lowered.report.num_dispatches == program.report().num_dispatches);
}

TEST_CASE("a graph is lowered for levels that the host lacks, too") {
  const CompileOptions options = usual();
  for (const char* target : {"cpu:baseline", "cpu:avx2", "cpu:avx512"}) {
    const auto lowered = lower_graph(three_dispatches(), options.context->target(target).value());
    REQUIRE(lowered.status().message() == "");
    for (const Stage stage : kStages) CHECK_FALSE(to_text(*lowered, stage).empty());
  }
}

TEST_CASE("compile() reports each kernel in order") {
  CompileOptions options = usual();
  options.device = "cpu:threads=1";  // more threads end kernels in any order
  std::vector<std::string> names;
  options.progress = [&](const CompileProgress& progress) {
    CHECK(progress.kernel == names.size());
    names.emplace_back(progress.name);
  };
  const Program program = compile(three_dispatches(), options).value();
  const auto& kernels = program.lowered().schedule.kernels;
  REQUIRE(names.size() == kernels.size());
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(names[i] == kernels[KernelIndex(i)].name);
}

}  // namespace
}  // namespace millrace
