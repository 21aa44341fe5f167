// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "millrace/hal/executor.h"

namespace millrace {

/// Runs a cpu device's work on oneTBB's threads, in an arena: `create_cpu_device(target, {.executor =
/// std::make_shared<TbbExecutor>()})`. Include this header only in code that links oneTBB; Millrace itself does not
/// need oneTBB.
class TbbExecutor final : public Executor {
 public:
  /// All threads that oneTBB has, or at most `max_threads`, including the calling one.
  explicit TbbExecutor(int max_threads = tbb::task_arena::automatic) : arena_(max_threads) {}

  std::uint32_t concurrency() const override {
    return static_cast<std::uint32_t>(std::max(arena_.max_concurrency(), 1));
  }

  void parallel_for(std::size_t count, std::size_t chunk, RangeBody body) override {
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, count, chunk),
          [&](const tbb::blocked_range<std::size_t>& range) {
            // A range may be larger than a chunk: oneTBB does not promise the size.
            for (std::size_t begin = range.begin(); begin < range.end(); begin += chunk) {
              body(begin, std::min(begin + chunk, range.end()));
            }
          },
          tbb::simple_partitioner());
    });
  }

 private:
  tbb::task_arena arena_;
};

}  // namespace millrace
