// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/hal/executor.h"

namespace millrace {

/// A pool without a queue. A caller claims idle workers, hands its job to each, and works on the job itself. When no
/// work is left, it takes the job back from workers that have not begun it. So callers share the workers as these
/// become idle, a worker that the system does not run delays nobody, and a caller that finds no idle worker does
/// everything itself. Other programs may need the CPUs too. A worker that is idle on its caller's CPU is moved to
/// another before it gets a job. If the system stops a worker within a chunk for which the caller waits, the worker is
/// moved to the caller's CPU. Pinned workers are never moved.
class ThreadPool final : public Executor {
 public:
  /// An idle worker polls for this long, and so does a caller that waits for a worker's last chunk. Waking a thread
  /// costs 5 us or more: polling bridges the small dispatches and the host's work between two large dispatches.
  static constexpr std::chrono::microseconds kSpin{50};
  /// The limits of wake_ns(). At the upper limit, work of a few times that length still wakes threads, so that the time
  /// is measured again.
  static constexpr std::uint32_t kMinWakeNs = 2000, kMaxWakeNs = 50'000;

  static Result<std::shared_ptr<ThreadPool>> create(const ThreadPoolOptions&);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() override;

  std::uint32_t concurrency() const override { return options_.num_threads; }
  void parallel_for(std::size_t count, std::size_t chunk, RangeBody body) override;
  std::uint32_t num_awake() const override {
    return options_.num_threads - 1 - num_parked_.load(std::memory_order_relaxed);
  }

  /// Roughly the median of the last wake-ups.
  std::uint32_t wake_ns() const override { return wake_ns_.load(std::memory_order_relaxed); }

  const ThreadPoolOptions& options() const { return options_; }
  /// The number of jobs handed to workers, and how many of them had to wake the worker.
  std::uint64_t num_handovers() const { return num_handovers_.load(std::memory_order_relaxed); }
  std::uint64_t num_wakes() const { return num_wakes_.load(std::memory_order_relaxed); }

 private:
  struct Job;
  struct Worker;
  struct Claim;

  explicit ThreadPool(const ThreadPoolOptions&);
  Status start();
  void run(Worker&);
  std::pair<std::uint32_t, bool> wait_for_job(Worker&, bool may_spin);
  bool claim(Worker&, bool is_parked, Job&, Claim&);
  std::size_t claim_some(std::size_t max_claims, Job&, Claim* claims);
  void finish(const Claim&, const Job&);
  void wait_for_end(Worker&, std::uint32_t ready);
  void note_wake(std::int64_t ns);

  ThreadPoolOptions options_;
  std::chrono::nanoseconds spin_;
  std::unique_ptr<Worker[]> workers_;  // num_threads - 1
  std::vector<std::thread> threads_;
  std::atomic<std::uint32_t> num_parked_ = 0;
  std::atomic<std::uint32_t> wake_ns_ = 10'000;
  std::atomic<std::uint64_t> num_handovers_ = 0, num_wakes_ = 0;
};

}  // namespace millrace
