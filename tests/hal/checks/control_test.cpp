// SPDX-License-Identifier: Apache-2.0
// What validate() reports about loops and conditions, and how a list that contains them prints.
#include <doctest/doctest.h>

#include "millrace/hal/command_list.h"
#include "tests/hal/list_builder.h"

namespace millrace {
namespace {

std::shared_ptr<const CommandBlock> take(ListBuilder& b) {
  auto block = std::make_shared<const CommandBlock>(CommandBlock{std::move(b.list.commands)});
  b.list.commands.clear();
  return block;
}

TEST_CASE("a list with loops and conditions prints its blocks") {
  ListBuilder b;
  const BindingIndex x = b.binding("x", BindingKind::kTransient, 64);
  b.copy(b.range(x, 0, 8), b.range(x, 8, 8));
  const auto body = take(b);
  b.fill(b.range(x, 16, 4), 1, 4);
  const auto other = take(b);
  b.list.commands.emplace_back(CondCommand{b.range(x, 33, 1), body, other});
  const auto outer = take(b);
  b.list.commands.emplace_back(LoopCommand{b.range(x, 32, 1), outer});
  CHECK(to_text(b.list) ==
        "transient x: 64 bytes\n"
        "loop while x[32, 33)\n"
        "  if x[33, 34)\n"
        "    copy x[0, 8) -> x[8, 16)\n"
        "  else\n"
        "    fill x[16, 20) with 0x00000001\n");
  CHECK(validate(b.list).message() == "");
  const CommandList copy = b.list;
  CHECK(copy.commands == b.list.commands);
}

TEST_CASE("validate: a condition is one byte, and a loop or condition has its blocks") {
  ListBuilder b;
  const BindingIndex x = b.binding("x", BindingKind::kTransient, 64);
  b.list.commands.emplace_back(LoopCommand{b.range(x, 0, 4), nullptr});
  b.list.commands.emplace_back(CondCommand{b.range(x, 8, 1), nullptr, std::make_shared<const CommandBlock>()});
  CHECK(validate(b.list).message() ==
        "command 0 (loop): a condition of 4 bytes, expected 1\n"
        "command 0 (loop): has no body; give it a block\n"
        "command 1 (if): lacks a block; give it two");
}

TEST_CASE(
    "validate: a mistake in a block is reported with its number in the list, and a block counts for its command") {
  ListBuilder b;
  const BindingIndex x = b.binding("x", BindingKind::kTransient, 64), in = b.input("in", 8);
  b.copy(b.range(x, 0, 8), b.range(in, 0, 8));
  const auto body = take(b);
  b.fill(b.range(x, 0, 4), 1, 4);
  b.list.commands.emplace_back(LoopCommand{b.range(x, 32, 1), body});
  b.fill(b.range(x, 32, 4), 1, 4);
  CHECK(validate(b.list).message() ==
        "command 2 (copy) destination: writes input 'in', expected an output or a transient\n"
        "command 1 (loop) source: reads transient 'x' at [0, 8), which command 0 (fill) destination writes at [0, 4); "
        "put a barrier between them\n"
        "command 3 (fill) destination: writes transient 'x' at [32, 36), which command 1 (loop) condition reads at "
        "[32, 33); put a barrier between them");
}

TEST_CASE("validate: commands in a block need barriers between them, but not at its ends") {
  ListBuilder b;
  const BindingIndex x = b.binding("x", BindingKind::kTransient, 64);
  b.fill(b.range(x, 0, 4), 1, 4);
  b.copy(b.range(x, 0, 4), b.range(x, 8, 4));
  const auto racy = take(b);
  b.fill(b.range(x, 0, 4), 1, 4);
  b.barrier();
  b.copy(b.range(x, 0, 4), b.range(x, 8, 4));
  const auto right = take(b);
  b.list.commands.emplace_back(CondCommand{b.range(x, 32, 1), right, racy});
  CHECK(validate(b.list).message() ==
        "command 5 (copy) source: reads transient 'x' at [0, 4), which command 4 (fill) destination writes at [0, 4); "
        "put a barrier between them");
}

}  // namespace
}  // namespace millrace
