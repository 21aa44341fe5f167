// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "millrace/base/status.h"

namespace millrace {

/// A non-owning reference to a function of a range [begin, end), valid only during the call to which it is passed.
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

/// The threads on which a cpu device works: a pool of Millrace's (create_thread_pool), or the application's own. Any
/// number of threads may use one at the same time.
class Executor {
 public:
  virtual ~Executor() = default;

  /// The maximum number of threads that work on one loop, including the calling thread; at least 1. Never changes.
  virtual std::uint32_t concurrency() const = 0;

  /// Calls `body` on ranges that together are [0, count), each with at most `chunk` (at least 1) indices and each index
  /// once. Returns when all calls have returned; what they wrote is then visible to the caller. The calls may run in
  /// any order, on any threads, concurrently or one after another, because no call waits for another. `body` does not
  /// throw, and parallel_for must not throw either.
  virtual void parallel_for(std::size_t count, std::size_t chunk, RangeBody body) = 0;

  /// Roughly the number of threads, besides the calling one, that are awake and would begin at once. Work that is too
  /// small to be worth waking a thread is shared only with the awake threads. Return 0 if the number is unknown.
  virtual std::uint32_t num_awake() const { return 0; }

  /// Roughly the number of nanoseconds that a sleeping thread needs to begin. Threads are woken only for work that
  /// takes longer.
  virtual std::uint32_t wake_ns() const { return 10'000; }
};

struct ThreadPoolOptions {
  static constexpr std::uint32_t kMaxThreads = 1024;

  std::uint32_t num_threads = 1;  // 1 to kMaxThreads, including the calling thread: the pool starts one fewer
  bool is_pinned = false;         // whether each pool thread is pinned to a CPU of its own, as long as any are left
  friend bool operator==(const ThreadPoolOptions&, const ThreadPoolOptions&) = default;
};

/// Threads "millrace-1", "millrace-2" ..., which end with the last owner. An idle thread polls for work for some time,
/// and then sleeps. Devices that are given the same pool share its threads. Fails if the system refuses more threads.
Result<std::shared_ptr<Executor>> create_thread_pool(const ThreadPoolOptions&);

/// The number of cores that this process may use; cores with several hardware threads count once.
std::uint32_t num_physical_cores();

}  // namespace millrace
