// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace millrace::test {

/// What a piece of code executes, instruction by instruction: a bar on a path's cost that no noise moves.
struct PathCounts {
  std::uint64_t instructions = 0;
  std::uint64_t atomics = 0;         // locked instructions, and exchanges with memory
  std::uint64_t indirect_calls = 0;  // virtual ones, and those through function pointers; not those into libraries
};

/// Counts in a child process that is stepped through `body`, which warms up first by running it twice. Nothing where
/// the system forbids to trace. x86-64 alone.
std::optional<PathCounts> count_path(const std::function<void()>& body);

}  // namespace millrace::test
