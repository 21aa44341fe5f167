// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <pthread.h>
#include <sched.h>

namespace millrace {

/// The CPU that a thread of a pool runs on. Where other programs keep CPUs busy, the system lets two threads of a pool
/// take turns on one CPU, or a thread wait behind another program while its caller's CPU has nothing to do. It leaves
/// that so for milliseconds, which is longer than most loops; so the pool moves its threads itself.
/// A thread is moved only within the CPUs that it had at first, and no more once somebody else has changed these.
/// Each function may be called by any thread, unless it says otherwise.
class ThreadPlace {
 public:
  /// Before any other function except note_cpu(). A thread that does not have its CPU for itself `may_move`.
  void set_thread(pthread_t thread, bool may_move);

  /// By the thread itself: where it runs now.
  void note_cpu() {
    const int cpu = sched_getcpu();
    // A store would take the cache line from those who look at it.
    if (cpu != noted_cpu()) cpu_.store(cpu, std::memory_order_relaxed);
  }
  /// Where it ran when it last noted its CPU.
  int noted_cpu() const { return cpu_.load(std::memory_order_relaxed); }

  /// To another CPU than this one.
  void move_off(int cpu);
  void move_to(int cpu);
  /// By the thread itself: it may use all of its CPUs again. Returns whether it had been moved.
  bool end_move();

  /// How long it has run.
  std::chrono::nanoseconds run_time() const;

 private:
  bool may_use(int cpu) const;
  void move(const cpu_set_t& cpus);

  pthread_t thread_ = {};
  clockid_t clock_ = {};
  bool may_move_ = false;
  cpu_set_t cpus_ = {};  // that it had at first
  std::atomic<int> cpu_ = -1;
  std::atomic<bool> is_moved_ = false;
};

/// Whether a thread is running, or the system has taken it off its CPU.
class ThreadProgress {
 public:
  explicit ThreadProgress(const ThreadPlace& thread) : thread_(thread) {}

  /// Whether it has run for less than half of the time since the last call, or since the construction. After a very
  /// short time it is not known, and said not to be.
  bool has_stalled();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kMinPeriod{10};

  const ThreadPlace& thread_;
  Clock::time_point looked_ = Clock::now();
  std::chrono::nanoseconds had_run_ = thread_.run_time();
};

}  // namespace millrace
