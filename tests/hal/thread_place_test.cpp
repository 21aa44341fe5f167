// SPDX-License-Identifier: Apache-2.0
// Threads that are moved from one CPU to another, and back.
#include "hal/host/thread_place.h"

#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "hal/host/cpu_set.h"

namespace millrace {
namespace {

using Cpus = std::vector<std::uint32_t>;

/// A thread with a place, which notes its CPU over and over and ends its moves when it is asked to.
class PlacedThread {
 public:
  explicit PlacedThread(bool may_move) : thread_([this] { run(); }) {
    place.set_thread(thread_.native_handle(), may_move);
    is_set_ = true;
  }
  PlacedThread(const PlacedThread&) = delete;
  PlacedThread& operator=(const PlacedThread&) = delete;
  ~PlacedThread() {
    stops_ = true;
    thread_.join();
  }

  /// Where it may run.
  Cpus cpus() {
    cpu_set_t set;
    REQUIRE(pthread_getaffinity_np(thread_.native_handle(), sizeof(set), &set) == 0);
    Cpus cpus;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
    return cpus;
  }
  Status pin(std::uint32_t cpu) { return pin_thread(thread_.native_handle(), cpu); }
  bool end_move() {
    asked_ = true;
    while (asked_) std::this_thread::yield();
    return was_moved_;
  }
  void sleep_until(const std::atomic<bool>& ends) {
    sleeps_ = &ends;
    while (sleeps_ != nullptr) std::this_thread::yield();
  }

  ThreadPlace place;

 private:
  void run() {
    while (!is_set_) std::this_thread::yield();
    while (!stops_) {
      place.note_cpu();
      if (asked_) {
        was_moved_ = place.end_move();
        asked_ = false;
      }
      if (const std::atomic<bool>* ends = sleeps_.exchange(nullptr); ends != nullptr) ends->wait(false);
    }
  }

  std::atomic<bool> is_set_ = false, stops_ = false, asked_ = false, was_moved_ = false;
  std::atomic<const std::atomic<bool>*> sleeps_ = nullptr;
  std::thread thread_;
};

Cpus without(Cpus cpus, std::uint32_t cpu) {
  std::erase(cpus, cpu);
  return cpus;
}

}  // namespace

TEST_CASE("place: a thread that is moved runs on another CPU, and may use all of its CPUs again at the end") {
  const Cpus all = usable_cpus();
  if (all.size() < 2) return;
  PlacedThread thread(true);
  for (const std::uint32_t cpu : {all.front(), all.back()}) {
    thread.place.move_off(static_cast<int>(cpu));
    CHECK(thread.cpus() == without(all, cpu));
    while (thread.place.noted_cpu() == static_cast<int>(cpu)) std::this_thread::yield();
    thread.place.move_to(static_cast<int>(cpu));
    CHECK(thread.cpus() == Cpus{cpu});
    while (thread.place.noted_cpu() != static_cast<int>(cpu)) std::this_thread::yield();
    CHECK(thread.end_move());
    CHECK(thread.cpus() == all);
    CHECK_FALSE(thread.end_move());
  }
}

TEST_CASE("place: a thread stays within the CPUs that it had at first") {
  const Cpus all = usable_cpus();
  PlacedThread thread(true);
  for (const int cpu : {-1, static_cast<int>(all.back()) + 1, CPU_SETSIZE}) {
    thread.place.move_to(cpu);
    CHECK(thread.cpus() == all);
    thread.place.move_off(cpu);
    CHECK(thread.cpus() == all);
    CHECK_FALSE(thread.end_move());
  }
}

TEST_CASE("place: a thread that has a CPU for itself, or was given other CPUs, is not moved") {
  const Cpus all = usable_cpus();
  if (all.size() < 2) return;
  PlacedThread pinned(false), confined(true);
  REQUIRE(confined.pin(all.back()).ok());
  for (PlacedThread* thread : {&pinned, &confined}) {
    const Cpus before = thread->cpus();
    thread->place.move_off(static_cast<int>(all.back()));
    CHECK(thread->cpus() == before);
    thread->place.move_to(static_cast<int>(all.front()));
    CHECK(thread->cpus() == before);
    CHECK_FALSE(thread->end_move());
  }
}

TEST_CASE("place: a thread that sleeps has stalled, one that runs has not") {
  std::atomic<bool> ends = false;
  PlacedThread thread(true);
  {
    ThreadProgress progress(thread.place);
    // It runs for less than half of the time while other programs need its CPU.
    bool has_run = false;
    while (!has_run) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      has_run = !progress.has_stalled();
    }
  }
  thread.sleep_until(ends);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ThreadProgress progress(thread.place);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(progress.has_stalled());
  ends = true;
  ends.notify_all();
}

}  // namespace millrace
