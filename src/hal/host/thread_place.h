// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <pthread.h>
#include <sched.h>

namespace millrace {

/// The CPU on which a thread of a pool runs. When other programs keep CPUs busy, the system may let two threads of a
/// pool share one CPU, or let a thread wait behind another program while its caller's CPU is idle. Either state lasts
/// for milliseconds, longer than almost every loop, so the pool moves its threads itself. It moves a thread only among
/// the CPUs that the thread could use at first, and stops once somebody else has changed that set. Any thread may call
/// these functions, unless they say otherwise.
class ThreadPlace {
 public:
  /// Call it before any other function except note_cpu(). `may_move`: the thread is not pinned to a CPU of its own.
  void set_thread(pthread_t thread, bool may_move);

  /// Records the current CPU. Only the thread itself may call it.
  void note_cpu() {
    const int cpu = sched_getcpu();
    // An unconditional store would take the cache line away from readers.
    if (cpu != noted_cpu()) cpu_.store(cpu, std::memory_order_relaxed);
  }
  /// The CPU on which the thread ran when it last called note_cpu().
  int noted_cpu() const { return cpu_.load(std::memory_order_relaxed); }

  /// Moves the thread to a CPU other than this one.
  void move_off(int cpu);
  void move_to(int cpu);
  /// Lets the thread use all of its CPUs again, and returns whether it had been moved. Only the thread itself may call
  /// this.
  bool end_move();

  /// The CPU time that the thread has used.
  std::chrono::nanoseconds run_time() const;

 private:
  bool may_use(int cpu) const;
  void move(const cpu_set_t& cpus);

  pthread_t thread_ = {};
  clockid_t clock_ = {};
  bool may_move_ = false;
  cpu_set_t cpus_ = {};  // the CPUs that the thread could use at first
  std::atomic<int> cpu_ = -1;
  std::atomic<bool> is_moved_ = false;
};

/// Whether a thread is running, or the system has taken it off its CPU.
class ThreadProgress {
 public:
  explicit ThreadProgress(const ThreadPlace& thread) : thread_(thread) {}

  /// Whether the thread has run for less than half of the time since the last call, or since construction. After a very
  /// short time, which proves nothing, returns false.
  bool has_stalled();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kMinPeriod{10};

  const ThreadPlace& thread_;
  Clock::time_point looked_ = Clock::now();
  std::chrono::nanoseconds had_run_ = thread_.run_time();
};

}  // namespace millrace
