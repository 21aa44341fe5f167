// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/state.h"

#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

#include "tests/hip_standin/runtime/places.h"

namespace millrace::hip_standin {
namespace {

/// What a lost device leaves behind of its queues: nobody waits for ever.
struct Drop {
  State& state;

  void operator()(const QueuedRecord& command) const { command.record->is_done = true; }
  void operator()(const QueuedAllocation& command) const { command.allocation->has_begun = true; }
  void operator()(const QueuedRelease& command) const { give_back(state, *command.allocation); }
  void operator()(const auto&) const {}
};

Options options_of_environment() {
  const char* const listed = std::getenv("MILLRACE_HIP_STANDIN_ARCHITECTURES");
  if (listed == nullptr) return {};
  Options options{.devices = {}};
  std::istringstream words(listed);
  for (std::string word; words >> word;) options.devices.push_back({.architecture = word});
  return options;
}

}  // namespace

int& State::current_device() {
  thread_local std::uint64_t epoch_of_thread = 0;
  thread_local int device = 0;
  if (epoch_of_thread != epoch) {
    epoch_of_thread = epoch;
    device = 0;
  }
  return device;
}

State& the_state() {
  static State& state = *[] {
    auto* const made = new State;  // threads may be inside when the process ends
    reset(*made, options_of_environment());
    return made;
  }();
  return state;
}

void reset(State& state, const Options& options) {
  ++state.epoch;
  state.options = options;
  state.devices.clear();
  for (const DeviceOptions& device : options.devices) state.devices.push_back({.options = device});
  state.journal = {};
  state.memory.clear();
  state.pools.clear();
  state.modules.clear();
  state.functions.clear();
  state.streams.clear();
  state.events.clear();
  state.random.seed(options.seed);
  state.num_commands = state.num_launches_until_hang = state.num_hidden_waits = 0;
  state.holds_commands = false;
}

std::vector<std::string> live_objects(const State& state) {
  std::vector<std::string> texts = state.memory.live_objects();
  const auto add = [&](const char* kind, const auto& handles) {
    for (const auto& [number, object] : handles) texts.push_back(fmt::format("{} {}", kind, number));
  };
  add("pool", state.pools);
  add("module", state.modules);
  add("stream", state.streams);
  add("event", state.events);
  return texts;
}

void lose(State& state, int device) {
  state.devices[static_cast<std::size_t>(device)].is_lost = true;
  for (const auto& [number, stream] : state.streams) {
    if (stream->device != device) continue;
    for (const QueuedCommand& command : stream->commands) std::visit(Drop{state}, command.what);
    stream->commands.clear();
  }
}

void fault(State& state, int device, std::string finding) {
  state.journal.find(std::move(finding));
  lose(state, device);
}

}  // namespace millrace::hip_standin
