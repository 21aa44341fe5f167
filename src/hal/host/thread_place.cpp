// SPDX-License-Identifier: Apache-2.0
// Moves a pool's threads between CPUs, and detects threads that the system has stopped running.
#include "hal/host/thread_place.h"

#include <utility>

namespace millrace {

void ThreadPlace::set_thread(pthread_t thread, bool may_move) {
  thread_ = thread;
  may_move_ = pthread_getcpuclockid(thread, &clock_) == 0 && may_move &&
              pthread_getaffinity_np(thread, sizeof(cpus_), &cpus_) == 0;
}

/// Sets the flag after the move. If the thread calls end_move() in between, at the end of a job, it finds the flag set
/// at the beginning of the next job, and ends the move then.
void ThreadPlace::move(const cpu_set_t& cpus) {
  cpu_set_t now;
  if (pthread_getaffinity_np(thread_, sizeof(now), &now) != 0) return;
  if (!is_moved_.load(std::memory_order_relaxed) && !CPU_EQUAL(&now, &cpus_)) return;
  if (pthread_setaffinity_np(thread_, sizeof(cpus), &cpus) == 0) is_moved_.store(true, std::memory_order_relaxed);
}

bool ThreadPlace::may_use(int cpu) const {
  return may_move_ && cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &cpus_);
}

void ThreadPlace::move_off(int cpu) {
  if (!may_use(cpu)) return;
  cpu_set_t others = cpus_;
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) > 0) move(others);
}

void ThreadPlace::move_to(int cpu) {
  if (!may_use(cpu)) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  move(one);
}

bool ThreadPlace::end_move() {
  if (!is_moved_.load(std::memory_order_relaxed) || !is_moved_.exchange(false, std::memory_order_relaxed)) return false;
  (void)pthread_setaffinity_np(pthread_self(), sizeof(cpus_), &cpus_);
  return true;
}

std::chrono::nanoseconds ThreadPlace::run_time() const {
  timespec time = {};
  clock_gettime(clock_, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool ThreadProgress::has_stalled() {
  const auto now = Clock::now();
  const std::chrono::nanoseconds passed = now - looked_;
  if (passed < kMinPeriod) return false;
  const std::chrono::nanoseconds run = thread_.run_time(), has_run = run - std::exchange(had_run_, run);
  looked_ = now;
  return has_run < passed / 2;
}

}  // namespace millrace
