// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "millrace/base/status.h"

namespace millrace {

/// A function of a range [begin, end), passed without owning it: valid during the call that it is an argument of.
class RangeBody {
 public:
  template <class F>
    requires(std::is_invocable_v<F&, std::size_t, std::size_t> && !std::is_same_v<std::remove_cv_t<F>, RangeBody>)
  RangeBody(F& function)
      : function_(std::addressof(function)), call_([](const void* self, std::size_t begin, std::size_t end) {
          (*static_cast<F*>(const_cast<void*>(self)))(begin, end);
        }) {}

  void operator()(std::size_t begin, std::size_t end) const { call_(function_, begin, end); }

 private:
  const void* function_;
  void (*call_)(const void*, std::size_t begin, std::size_t end);
};

/// Threads that a cpu device works on: a pool of Millrace's (create_thread_pool), or the application's own. Any number
/// of threads may use one at a time.
class Executor {
 public:
  virtual ~Executor() = default;

  /// How many threads work on one loop at most, the calling thread included; at least 1. Never changes.
  virtual std::uint32_t concurrency() const = 0;

  /// Calls `body` on ranges that together are [0, count), each of at most `chunk` (at least 1) indices and each index
  /// once. Returns when all calls have returned; what they wrote is then visible to the caller. The calls may come in
  /// any order, on any threads, at the same time or one after another: none waits for another. `body` does not throw,
  /// and neither may this.
  virtual void parallel_for(std::size_t count, std::size_t chunk, RangeBody body) = 0;

  /// Roughly how many threads, beside the calling one, would begin at once, since they are awake. Work that is too
  /// small to wake a thread for is shared with those only. An executor that cannot tell says 0.
  virtual std::uint32_t num_awake() const { return 0; }

  /// Roughly how many nanoseconds pass until a thread that sleeps has begun. Threads are woken only for work that takes
  /// them longer than that.
  virtual std::uint32_t wake_ns() const { return 10'000; }
};

struct ThreadPoolOptions {
  static constexpr std::uint32_t kMaxThreads = 1024;

  std::uint32_t num_threads = 1;  // 1 to kMaxThreads, the calling thread included, so the pool starts one less
  bool is_pinned = false;         // each thread of the pool to a CPU of its own, as long as there are so many
  friend bool operator==(const ThreadPoolOptions&, const ThreadPoolOptions&) = default;
};

/// Threads "millrace-1", "millrace-2" ..., which end with the last owner. An idle one polls for work for some time, and
/// then sleeps. Devices that are given the same pool share its threads. Fails when the system gives no more threads.
Result<std::shared_ptr<Executor>> create_thread_pool(const ThreadPoolOptions&);

/// How many cores this process may use, those with several hardware threads counted once.
std::uint32_t num_physical_cores();

}  // namespace millrace
