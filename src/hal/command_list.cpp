// SPDX-License-Identifier: Apache-2.0
// Compares, numbers and counts the commands of a list, including those in blocks.
#include "millrace/hal/command_list.h"

#include <algorithm>

namespace millrace {

namespace {
bool are_equal(const std::shared_ptr<const CommandBlock>& a, const std::shared_ptr<const CommandBlock>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}
}  // namespace

bool operator==(const LoopCommand& a, const LoopCommand& b) {
  return a.condition == b.condition && are_equal(a.body, b.body);
}

bool operator==(const CondCommand& a, const CondCommand& b) {
  return a.condition == b.condition && are_equal(a.if_true, b.if_true) && are_equal(a.if_false, b.if_false);
}

std::vector<const CommandBlock*> blocks_of(const Command& command) {
  std::vector<const CommandBlock*> blocks;
  const auto add = [&](const std::shared_ptr<const CommandBlock>& block) {
    if (block != nullptr) blocks.push_back(block.get());
  };
  if (const auto* loop = std::get_if<LoopCommand>(&command)) add(loop->body);
  if (const auto* cond = std::get_if<CondCommand>(&command)) {
    add(cond->if_true);
    add(cond->if_false);
  }
  return blocks;
}

std::uint32_t CommandList::num_commands() const {
  return index_of(visit_commands(commands, CommandId{}, [](CommandId, const Command&) {}));
}

SizeIndex CommandList::add_size(const SizeExpr& size) {
  // A linear search: a list has a few hundred sizes, and almost all are constants, which compare quickly.
  const auto found = std::find(sizes.begin(), sizes.end(), size);
  if (found == sizes.end()) return sizes.push_back(size);
  return static_cast<SizeIndex>(found - sizes.begin());
}

}  // namespace millrace
