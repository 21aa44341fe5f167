// SPDX-License-Identifier: Apache-2.0
// The times of the commands in a session's runs.
#include <array>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/device.h"
#include "millrace/millrace.h"
#include "tests/support/gpu/far_device.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

Program compiled(GraphBuilder& builder) {
  CompileOptions options;
  options.context = test::test_context();
  return compile(builder.finish().value(), options).value();
}

TEST_CASE("each run reports the times of its commands in order, without barriers, while measuring is on") {
  GraphBuilder builder("two_of_them_in_turn");
  Tensor input = builder.input("x", DType::kF32, {4, 8});
  builder.output("y", reduce_sum(softmax(input), {0}));
  builder.output("z", transpose(input, {1, 0}) + 1.0);
  const Program program = compiled(builder);
  std::vector<CommandId> expected;
  const std::vector<Command>& commands = program.lowered().commands.commands;
  visit_commands(program.lowered().commands, [&](CommandId id, const Command& command) {
    if (!std::holds_alternative<BarrierCommand>(command)) expected.push_back(id);
  });
  CHECK(expected.size() < commands.size());  // there is a barrier
  for (const bool is_far : {false, true}) {
    const Program here =
        is_far ? program.on(test::create_far_device(test::test_context()->device("cpu").value())).value() : program;
    Session session = Session::create(here).value();
    std::array<float, 32> x{}, z{};
    std::array<float, 8> y{};
    SubmissionTimes times;
    session.measure(&times);
    for (int run = 0; run < 2; ++run) {
      CHECK(session.run({bind(x)}, {bind(y), bind(z)}).ok());
      REQUIRE(times.commands.size() == expected.size());
      std::uint64_t end_ns = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(times.commands[i].command == expected[i]);
        CHECK(times.commands[i].begin_ns >= end_ns);
        CHECK(times.commands[i].end_ns >= times.commands[i].begin_ns);
        end_ns = times.commands[i].end_ns;
      }
      CHECK(end_ns > 0);
    }
    times.commands.clear();
    session.measure(nullptr);
    CHECK(session.run({bind(x)}, {bind(y), bind(z)}).ok());
    CHECK(times.commands.empty());
  }
}

}  // namespace
}  // namespace millrace
