// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/machine_builder.h"

namespace millrace {

/// Runs `body` in the threads whose `condition` holds.
template <class F>
void when(MachineBuilder& b, MachineValue condition, F&& body) {
  const auto then = [&] {
    body();
    return MachineBuilder::Values{};
  };
  b.if_else(condition, then, [] { return MachineBuilder::Values{}; });
}

/// Calls body(i) for i in [lower, upper) with the given step. The three values have the same dtype.
template <class F>
void for_each(MachineBuilder& b, MachineValue lower, MachineValue upper, MachineValue step, F&& body) {
  b.for_loop(lower, upper, step, {}, [&](MachineValue i, const MachineBuilder::Values&) {
    body(i);
    return MachineBuilder::Values{};
  });
}

/// Calls body(i) for this thread's share of [0, count): i = thread, thread + num_threads, ... `count` must be a
/// multiple of `num_threads`, so that all threads run the same number of iterations.
template <class F>
void for_my_share(MachineBuilder& b, std::uint32_t count, std::uint32_t num_threads, F&& body) {
  if (count == num_threads) return body(b.thread_id());
  const MachineValue threads = b.i32(static_cast<std::int32_t>(num_threads));
  const MachineValue iterations = b.i32(static_cast<std::int32_t>(count / num_threads));
  for_each(b, b.i32(0), iterations, b.i32(1),
           [&](MachineValue iteration) { body(b.mul_add(iteration, threads, b.thread_id())); });
}

}  // namespace millrace
