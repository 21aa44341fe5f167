// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/command_list.h"

#include <doctest/doctest.h>

#include "tests/hal/list_builder.h"
#include "tests/support/golden.h"

namespace millrace {

TEST_CASE("an equal size expression has one index") {
  CommandList list;
  const SizeExpr n = Dim("n");
  const SizeIndex four = list.add_size(4);
  const SizeIndex bytes = list.add_size(n * 4);
  CHECK(list.add_size(4) == four);
  CHECK(list.add_size(n * 2 + n * 2) == bytes);
  CHECK(list.add_size(n) != bytes);
  CHECK(list.sizes.size() == 3);
}

namespace {

std::shared_ptr<const CommandBlock> block(std::vector<Command> commands) {
  return std::make_shared<const CommandBlock>(CommandBlock{std::move(commands)});
}

/// A loop in a branch in a loop, with commands before, in and behind each. The pattern of a fill is its number.
CommandList nested_list() {
  ListBuilder b;
  const BindingIndex x = b.binding("x", BindingKind::kTransient, 16);
  const BufferRange condition = b.range(x, 0, 1);
  std::int64_t offset = 1;
  const auto fill = [&](std::uint64_t number) -> Command {
    return FillCommand{.destination = b.range(x, offset++, 1), .pattern = number, .pattern_bytes = 1};
  };
  const Command first = fill(0), second = fill(2), fifth = fill(5), seventh = fill(7), last = fill(9);
  const Command inner = LoopCommand{condition, block({fifth})};
  const Command branch = CondCommand{condition, block({inner, BarrierCommand{}}), block({seventh})};
  b.list.commands = {first, LoopCommand{condition, block({second, branch})}, BarrierCommand{}, last};
  return b.list;
}

}  // namespace

TEST_CASE("the commands of a block are numbered directly after the command that holds it, and count") {
  CommandList list = nested_list();
  REQUIRE(validate(list).message() == "");
  for (const std::uint32_t first : {0u, 20u}) {
    list.first_command = CommandId{first};
    std::uint32_t expected = first;
    const CommandId end = visit_commands(list, [&](CommandId id, const Command& command) {
      CHECK(index_of(id) == expected++);
      const auto* fill = std::get_if<FillCommand>(&command);
      if (fill != nullptr) CHECK(fill->pattern + first == index_of(id));
    });
    CHECK(end == CommandId{first + 10});
    CHECK(list.num_commands() == 10);
  }
}

TEST_CASE("messages about a part of a list use the numbers of the whole list") {
  CommandList list = nested_list();
  std::get<FillCommand>(list.commands.back()).pattern_bytes = 3;
  CHECK(validate(list).message() == "command 9 (fill): a pattern of 3 bytes, expected 1, 2, 4 or 8");
  list.first_command = CommandId{20};
  CHECK(validate(list).message() == "command 29 (fill): a pattern of 3 bytes, expected 1, 2, 4 or 8");
}

TEST_CASE("a list prints its bindings, then one command per line, with names and sizes") {
  ListBuilder b;
  const SizeExpr n = Dim("n");
  const BindingIndex x = b.input("x", n * 4);
  const BindingIndex y = b.output("y", n * 4);
  const BindingIndex scratch = b.binding("", BindingKind::kTransient, 64);
  const BindingIndex weights = b.binding("weights", BindingKind::kConstant, 8);
  const KernelIndex add =
      b.kernel({.name = "add", .num_buffers = 3, .num_sizes = 2, .buffer_is_written = {false, false, true}});
  const KernelIndex nothing = b.kernel({.name = "nothing"});
  b.fill(b.range(scratch, 0, 64), 0x7f, 4);
  b.copy(b.range(weights, 0, 8), b.range(scratch, 8, 8));
  b.barrier();
  b.dispatch(add, ceil_div(n, 16), {b.range(x, 0, n * 4), b.range(scratch, 0, 64), b.range(y, 0, n * 4)}, {n, 1});
  b.dispatch(nothing, 1, {});
  std::get<DispatchCommand>(b.list.commands[3]).touched = {b.range(x, n, n), b.range(scratch, 0, 64),
                                                           b.range(y, 0, n * 4)};
  std::get<DispatchCommand>(b.list.commands[3]).touched[2].rows = {{b.list.add_size(n), b.list.add_size(4)}};
  CHECK(test::golden_problem("command_list.txt", to_text(b.list)) == "");
}

TEST_CASE("a list that is not valid prints too") {
  CommandList list;
  const BufferRange nowhere{.binding = BindingIndex{3}, .offset_bytes = SizeIndex{4}, .length_bytes = SizeIndex{5}};
  list.commands.emplace_back(FillCommand{.destination = nowhere, .pattern = 1, .pattern_bytes = 0xffff'ffff});
  list.commands.emplace_back(DispatchCommand{
      .kernel = KernelIndex{6}, .num_groups = SizeIndex{7}, .buffers = {nowhere}, .sizes = {SizeIndex{8}}});
  CHECK(to_text(list) ==
        "fill ?3[?4, +?5) with 0x0000000000000001\n"
        "dispatch ?6 groups ?7: ?3[?4, +?5); sizes ?8\n");
}

}  // namespace millrace
