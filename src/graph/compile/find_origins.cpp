// SPDX-License-Identifier: Apache-2.0
// Finds the step that each command comes from, for profiles, traces and messages.
#include "millrace/graph/lowered_graph.h"

namespace millrace {
namespace {

using Origins = IdVector<CommandId, CommandOrigin>;

/// A command list has one command per step of its schedule, in order, and barriers between them (record_commands).
void add_origins(const LoweredGraph& graph, const std::vector<Command>& commands, std::optional<CommandId> around,
                 Origins& origins) {
  auto step = graph.schedule.steps.begin();
  for (const Command& command : commands) {
    const CommandId id = origins.push_back({&graph, nullptr, around});
    if (std::holds_alternative<BarrierCommand>(command)) continue;
    origins[id].step = &*step;
    const std::vector<const CommandBlock*> blocks = blocks_of(command);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      add_origins(*graph.bodies.at(*step->region)[i], blocks[i]->commands, id, origins);
    }
    ++step;
  }
}

}  // namespace

Origins find_origins(const LoweredGraph& lowered) {
  Origins origins;
  add_origins(lowered, lowered.commands.commands, {}, origins);
  return origins;
}

}  // namespace millrace
