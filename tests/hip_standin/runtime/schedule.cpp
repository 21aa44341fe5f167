// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/schedule.h"

#include <algorithm>

namespace millrace::hip_standin {
namespace {

bool may_run(const State& state, const StreamState& stream) {
  if (stream.commands.empty() || state.holds_commands || state.devices[static_cast<std::size_t>(stream.device)].is_hung)
    return false;
  const auto& front = stream.commands.front().what;
  if (const auto* wait = std::get_if<QueuedWait>(&front)) return wait->record->is_done;
  const auto* launch = std::get_if<QueuedLaunch>(&front);
  return launch == nullptr || !launch->never_ends;
}

/// Whether `a` comes before `b`. With a seed, a stream keeps its random priority for a while: so some run far ahead.
bool comes_before(const State& state, const StreamState& a, const StreamState& b) {
  if (state.options.seed == 0) return a.commands.front().number < b.commands.front().number;
  return a.priority > b.priority;
}

}  // namespace

bool run_one(State& state) {
  StreamState* chosen = nullptr;
  for (const auto& [number, stream] : state.streams) {
    if (!may_run(state, *stream)) continue;
    if (chosen == nullptr || comes_before(state, *stream, *chosen)) chosen = stream.get();
  }
  if (chosen == nullptr) return false;
  if (state.random() % 4 == 0) chosen->priority = state.random();
  run_front(state, *chosen);
  return true;
}

void enqueue(State& state, StreamState& stream, decltype(QueuedCommand::what) what) {
  if (auto* launch = std::get_if<QueuedLaunch>(&what); launch != nullptr && state.num_launches_until_hang > 0) {
    launch->never_ends = --state.num_launches_until_hang == 0;
  }
  stream.commands.push_back({std::move(what), state.num_commands++});
  switch (state.options.eagerness) {
    case Eagerness::kLazy:
      return;
    case Eagerness::kMixed:
      for (std::uint64_t left = state.random() % 3 == 0 ? state.random() % 4 : 0; left > 0; --left) run_one(state);
      return;
    case Eagerness::kEager:
      while (run_one(state)) continue;
      return;
  }
}

bool is_idle(const State& state, int device) {
  return std::ranges::all_of(state.streams, [&](const auto& entry) {
    const StreamState& stream = *entry.second;
    return stream.device != device || stream.commands.empty();
  });
}

}  // namespace millrace::hip_standin
