// SPDX-License-Identifier: Apache-2.0
// The bytes of a program's constants: on its device, and nowhere else.
#include <memory>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program_variant.h"
#include "millrace/hal/device.h"
#include "millrace/hal/transfer.h"
#include "millrace/jit/target.h"
#include "millrace/millrace.h"
#include "tests/support/gpu/far_device.h"
#include "tests/support/graphs/run_graph.h"

using namespace millrace;

namespace {

using F = std::vector<float>;

F counting_up(std::size_t n, float first) {
  F elements(n);
  std::iota(elements.begin(), elements.end(), first);
  return elements;
}

/// y = x * table + bias, a sort, which takes several kernels on a GPU, and a constant that is an output itself.
Graph weighted() {
  GraphBuilder b("weighted");
  Tensor x = b.input("x", DType::kF32, {3, 100});
  Tensor table = b.constant<float>({3, 100}, counting_up(300, 1)),
         bias = b.constant<float>({100}, counting_up(100, -50));
  Tensor y = add(mul(x, table), broadcast(bias, {3, 100}, {1}));
  b.output("y", y);
  b.output("sorted", sort(y, 1).values);
  b.output("table", table);
  return b.finish().value();
}

/// What weighted() gives for x = 2, in plain loops.
F expected_y() {
  F y(300);
  for (std::size_t i = 0; i < 300; ++i)
    y[i] = 2.0f * (1.0f + static_cast<float>(i)) - 50.0f + static_cast<float>(i % 100);
  return y;
}

void check_runs(const Program& program) {
  F x(300, 2), y(300), sorted(300), table(300);
  Session session = Session::create(program).value();
  REQUIRE(session.run(std::vector{bind(x)}, std::vector{bind(y), bind(sorted), bind(table)}).ok());
  CHECK(y == expected_y());
  CHECK(sorted == expected_y());  // each row rises
  CHECK(table == counting_up(300, 1));
}

CompileOptions for_targets(std::vector<std::string> targets) {
  CompileOptions options;
  options.context = test::test_context();
  options.targets = std::move(targets);
  return options;
}

std::vector<std::weak_ptr<const void>> constants_of(const Graph& graph) {
  std::vector<std::weak_ptr<const void>> found;
  for (const Node& node : graph.nodes) {
    if (const auto* constant = std::get_if<ConstantNode>(&node.what)) found.push_back(constant->data.owner());
  }
  return found;
}

}  // namespace

TEST_CASE("a compiled program keeps no constant of the graph except the device's copy") {
  Graph graph = weighted();
  const auto constants = constants_of(graph);
  REQUIRE(constants.size() == 2);
  const Program program = compile(std::move(graph), for_targets({"cpu:baseline", "sim:gfx1100"})).value();
  for (const auto& constant : constants) CHECK(constant.expired());
  check_runs(program);
}

TEST_CASE("its text shows constants as before") {
  const Target target = test::test_context()->target("cpu:baseline").value();
  const LoweredGraph lowered = lower_graph(weighted(), target).value();
  const Program program = compile(weighted(), for_targets({"cpu:baseline"})).value();
  for (const Stage stage : {Stage::kGraph, Stage::kDispatch, Stage::kSchedule, Stage::kCommands}) {
    CHECK(program.to_text(stage) == to_text(lowered, stage));
  }
  CHECK(program.to_text(Stage::kGraph).find("1, 2, 3, 4, 5, 6, 7, 8, ... 292 more") != std::string::npos);
}

TEST_CASE("all variants lay the constants out alike, though their kernels differ") {
  const Program program = compile(weighted(), for_targets({"cpu:baseline", "sim:gfx1100", "sim:gfx90a"})).value();
  const auto layout = [](const ProgramVariant& variant) {
    std::vector<std::pair<std::string, std::int64_t>> places;
    for (const Resource& resource : variant.lowered->schedule.resources) {
      if (resource.lifetime != Lifetime::kConstant) continue;
      places.emplace_back(resource.name, resource.offset_bytes.constant());
    }
    return places;
  };
  CHECK(layout(program.variants()[0]).size() == 2);
  for (const ProgramVariant& variant : program.variants()) CHECK(layout(variant) == layout(program.variants()[0]));
}

TEST_CASE("constants move with a program from device to device") {
  const auto context = test::test_context();
  const Program first = compile(weighted(), for_targets({"cpu:baseline", "sim:gfx1100"})).value();
  const Program far = first.on(test::create_far_device(context->device("cpu:baseline").value())).value();
  check_runs(far);
  const Program farther = far.on(test::create_far_device(context->device("cpu:baseline").value())).value();
  check_runs(farther);
  check_runs(farther.on(context->device("sim:gfx1100").value()).value());
  check_runs(farther.on(context->device("cpu").value()).value());
}
