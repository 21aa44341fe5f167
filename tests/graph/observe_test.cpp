// SPDX-License-Identifier: Apache-2.0
// Watching the commands of a session's runs.
#include <array>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/device.h"
#include "millrace/millrace.h"
#include "tests/support/run_graph.h"

namespace millrace {
namespace {

Program compiled(GraphBuilder& builder) {
  CompileOptions options;
  options.context = test::test_context();
  return compile(builder.finish().value(), options).value();
}

/// Notes what it is told: "begin 0", "end 0".
struct Notes final : SubmissionObserver {
  void begin(std::size_t command) override { lines.push_back("begin " + std::to_string(command)); }
  void end(std::size_t command) override { lines.push_back("end " + std::to_string(command)); }
  std::vector<std::string> lines;
};

TEST_CASE("an observer is told of the commands of each run until it is taken away, and of no barrier") {
  GraphBuilder builder("two_of_them_in_turn");
  Tensor input = builder.input("x", DType::kF32, {4, 8});
  builder.output("y", reduce_sum(softmax(input), {0}));
  builder.output("z", transpose(input, {1, 0}) + 1.0);
  const Program program = compiled(builder);
  std::vector<std::string> expected;
  const std::vector<Command>& commands = program.lowered().commands.commands;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (std::holds_alternative<BarrierCommand>(commands[i])) continue;
    expected.push_back("begin " + std::to_string(i));
    expected.push_back("end " + std::to_string(i));
  }
  CHECK(expected.size() < 2 * commands.size());  // there is a barrier
  Session session = Session::create(program).value();
  std::array<float, 32> x{};
  std::array<float, 8> y{};
  std::array<float, 32> z{};
  const auto run = [&] { return session.run(std::array{bind(x)}, std::array{bind(y), bind(z)}); };
  Notes notes;
  session.observe(&notes);
  CHECK(run().ok());
  CHECK(notes.lines == expected);
  CHECK(run().ok());
  CHECK(notes.lines.size() == 2 * expected.size());
  session.observe(nullptr);
  CHECK(run().ok());
  CHECK(notes.lines.size() == 2 * expected.size());
}

TEST_CASE("a command that fails does not end") {
  GraphBuilder builder("failing");
  Tensor table = builder.input("table", DType::kF32, {4});
  builder.output("y", gather(table, builder.input("index", DType::kI64, {1}), 0));
  Session session = Session::create(compiled(builder)).value();
  const std::array<float, 4> values{};
  const std::array<std::int64_t, 1> outside{4};
  std::array<float, 1> y{};
  Notes notes;
  session.observe(&notes);
  CHECK_FALSE(session.run(std::array{bind(values), bind(outside)}, std::array{bind(y)}).ok());
  CHECK(notes.lines == std::vector<std::string>{"begin 0"});
}

}  // namespace
}  // namespace millrace
