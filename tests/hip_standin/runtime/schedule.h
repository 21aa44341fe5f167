// SPDX-License-Identifier: Apache-2.0
// Decides when commands run: only during a call that needs them, one after another, in an order that streams and events
// allow.
#pragma once

#include "tests/hip_standin/runtime/state.h"

namespace millrace::hip_standin {

/// Appends the command; by the eagerness asked for, some may run.
void enqueue(State&, StreamState&, decltype(QueuedCommand::what) what);

/// Runs one command of any stream. False: none may run.
bool run_one(State&);

/// Runs commands until `is_done`. False: it never comes about, for a stream hangs.
template <class Condition>
bool run_until(State& state, Condition is_done) {
  while (!is_done()) {
    if (!run_one(state)) return false;
  }
  return true;
}

/// Whether no stream of the device has a command.
bool is_idle(const State&, int device);

/// Runs the command at the front of the stream and takes it away. A launch that never ends stays.
void run_front(State&, StreamState&);

}  // namespace millrace::hip_standin
