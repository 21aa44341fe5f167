// SPDX-License-Identifier: Apache-2.0
// The numbers of commands in a graph with a loop in a branch in a loop, and the messages that use them.
#include <array>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/device.h"
#include "millrace/millrace.h"
#include "tests/support/gpu/far_device.h"
#include "tests/support/graphs/nested_graph.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

Program compiled_nested() {
  CompileOptions options;
  options.context = test::test_context();
  return compile(test::nested_graph(), options).value();
}

/// Which command holds each, as the list itself has it.
void find_holders(const std::vector<Command>& commands, std::optional<CommandId> holder,
                  std::vector<std::optional<CommandId>>& holders) {
  for (const Command& command : commands) {
    const CommandId id{static_cast<std::uint32_t>(holders.size())};
    holders.push_back(holder);
    for (const CommandBlock* block : blocks_of(command)) find_holders(block->commands, id, holders);
  }
}

TEST_CASE("each command comes from its step, in the graph or in the body that has it") {
  const Program program = compiled_nested();
  const LoweredGraph& lowered = program.lowered();
  const IdVector<CommandId, CommandOrigin> origins = find_origins(lowered);
  REQUIRE(origins.size() == lowered.commands.num_commands());
  CHECK(origins.size() > lowered.commands.commands.size());
  std::vector<std::optional<CommandId>> holders;
  find_holders(lowered.commands.commands, {}, holders);
  std::size_t num_nested = 0;
  visit_commands(lowered.commands, [&](CommandId id, const Command& command) {
    CAPTURE(index_of(id));
    const CommandOrigin& origin = origins[id];
    CHECK(origin.around == holders[index_of(id)]);
    num_nested += origin.around ? 1 : 0;
    CHECK((origin.step == nullptr) == std::holds_alternative<BarrierCommand>(command));
    if (const auto* dispatch = std::get_if<DispatchCommand>(&command)) {
      const KernelIndex own = origin.step->kernel.value();
      CHECK(lowered.schedule.kernels[dispatch->kernel].key_text == origin.graph->schedule.kernels[own].key_text);
    }
    if (std::holds_alternative<CopyCommand>(command)) CHECK(origin.step->is_copy());
    const bool is_loop = std::holds_alternative<LoopCommand>(command);
    if (is_loop || std::holds_alternative<CondCommand>(command)) CHECK(origin.step->control->is_loop == is_loop);
  });
  CHECK(num_nested > 6);
}

TEST_CASE("a run of nested blocks says when each command around them ran, here and on a far device") {
  const Program here = compiled_nested();
  const IdVector<CommandId, CommandOrigin> origins = find_origins(here.lowered());
  std::vector<CommandId> expected;
  for (std::uint32_t i = 0; i < origins.size(); ++i) {
    const CommandOrigin& origin = origins[CommandId{i}];
    if (origin.step != nullptr && !origin.around) expected.push_back(CommandId{i});
  }
  // Behind the loop are commands whose numbers are greater than the number of entries of the list.
  REQUIRE(index_of(expected.back()) >= here.lowered().commands.commands.size());
  for (const bool is_far : {false, true}) {
    const Program program =
        is_far ? here.on(test::create_far_device(test::test_context()->device("cpu").value())).value() : here;
    Session session = Session::create(program).value();
    std::array<float, 8> x{3, 1, 2, 5, 4, 7, 6, 0}, y{};
    std::array<std::int64_t, 8> at{7, 6, 5, 4, 3, 2, 1, 0};
    float sum = 0;
    SubmissionTimes times;
    session.measure(&times);
    REQUIRE(session.run({bind(x), bind(at)}, {bind(y), bind(std::span(&sum, 1))}).message() == "");
    std::vector<CommandId> found;
    for (const CommandTime& time : times.commands) {
      found.push_back(time.command);
      CHECK(time.begin_ns <= time.end_ns);
    }
    CHECK((found == expected));
  }
}

TEST_CASE("a run that measures blocks says each time when a command in them ran, here and on a far device") {
  const Program here = compiled_nested();
  const IdVector<CommandId, CommandOrigin> origins = find_origins(here.lowered());
  std::vector<CommandId> first;
  for (const bool is_far : {false, true}) {
    const Program program =
        is_far ? here.on(test::create_far_device(test::test_context()->device("cpu").value())).value() : here;
    Session session = Session::create(program).value();
    std::array<float, 8> x{3, 1, 2, 5, 4, 7, 6, 0}, y{};
    std::array<std::int64_t, 8> at{7, 6, 5, 4, 3, 2, 1, 0};
    float sum = 0;
    SubmissionTimes times{.commands = {}, .has_blocks = true};
    session.measure(&times);
    REQUIRE(session.run({bind(x), bind(at)}, {bind(y), bind(std::span(&sum, 1))}).message() == "");
    std::vector<CommandId> found;
    IdVector<CommandId, CommandTime> last;
    last.resize(origins.size());
    std::size_t num_nested = 0;
    for (const CommandTime& time : times.commands) {
      found.push_back(time.command);
      last[time.command] = time;
      CHECK(time.begin_ns <= time.end_ns);
      const std::optional<CommandId> around = origins[time.command].around;
      if (!around) continue;
      ++num_nested;
      CHECK(time.begin_ns >= last[*around].begin_ns);
      CHECK(time.end_ns <= last[*around].end_ns);
    }
    CHECK(num_nested > 6);
    if (is_far) {
      CHECK((found == first));
    } else {
      first = found;
    }
  }
}

TEST_CASE("a wrong index in a branch in a loop names the nodes around it") {
  const Program here = compiled_nested();
  for (const bool is_far : {false, true}) {
    const Program program =
        is_far ? here.on(test::create_far_device(test::test_context()->device("cpu").value())).value() : here;
    Session session = Session::create(program).value();
    std::array<float, 8> x{}, y{};
    std::array<std::int64_t, 8> at{0, 0, 0, 8, 0, 0, 0, 0};
    float sum = 0;
    CHECK(session.run({bind(x), bind(at)}, {bind(y), bind(std::span(&sum, 1))}).message() ==
          "run: %5 = while: %5 = if: %3 = gather: an index of operand 1, %at of i64[8], is outside axis 0 of "
          "operand 0, "
          "%1 of f32[8]; give -8 to 7");
  }
}

}  // namespace
}  // namespace millrace
