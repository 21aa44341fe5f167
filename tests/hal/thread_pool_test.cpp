// SPDX-License-Identifier: Apache-2.0
// The thread pool alone: loops, handing over work, names and CPUs of its threads, and its end.
#include "hal/host/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <numeric>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "hal/host/cpu_set.h"

namespace millrace {
namespace {

std::shared_ptr<ThreadPool> make_pool(std::uint32_t num_threads, bool is_pinned = false) {
  return ThreadPool::create({.num_threads = num_threads, .is_pinned = is_pinned}).value();
}

/// Runs `body` on each thread of the pool concurrently: each range waits until all have begun.
template <class Body>
void on_all_threads(ThreadPool& pool, const Body& body) {
  // A worker may be late, and its range then is the caller's, so this is tried until all came.
  for (bool have_all = false; !have_all;) {
    std::atomic<std::uint32_t> num_begun = 0;
    std::atomic<bool> gives_up = false;
    const auto wait = [&](std::size_t, std::size_t) {
      num_begun.fetch_add(1);
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
      while (num_begun < pool.concurrency() && !gives_up) {
        if (std::chrono::steady_clock::now() > deadline) gives_up = true;
        std::this_thread::yield();
      }
      if (!gives_up) body();
    };
    pool.parallel_for(pool.concurrency(), 1, wait);
    have_all = !gives_up;
  }
}

/// Waits until the workers sleep.
void let_sleep(const ThreadPool& pool) {
  while (pool.num_awake() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::string name_of_this_thread() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

}  // namespace

TEST_CASE("pool: a loop calls its body for each index once, in ranges of at most a chunk") {
  for (const std::uint32_t num_threads : {1, 2, 3, 8}) {
    const auto pool = make_pool(num_threads);
    for (const std::size_t count : {0u, 1u, 2u, 7u, 100u, 1000u}) {
      for (const std::size_t chunk : {1u, 3u, 64u, 5000u}) {
        std::vector<std::uint32_t> seen(count);
        std::atomic<bool> is_right = true;
        const auto body = [&](std::size_t begin, std::size_t end) {
          if (begin >= end || end - begin > chunk) is_right = false;
          for (std::size_t i = begin; i < end; ++i) ++seen[i];
        };
        pool->parallel_for(count, chunk, body);
        CHECK(is_right);
        CHECK(std::ranges::count(seen, 1u) == static_cast<std::ptrdiff_t>(count));
      }
    }
  }
}

TEST_CASE("pool: counts near the end of their range do not wrap") {
  const auto pool = make_pool(2);
  std::atomic<std::size_t> sum = 0;
  const auto add = [&](std::size_t begin, std::size_t end) { sum += end - begin; };
  pool->parallel_for(SIZE_MAX, SIZE_MAX / 3, add);
  CHECK(sum == SIZE_MAX);
}

TEST_CASE("pool: the calling thread takes the first chunk") {
  const auto pool = make_pool(3);
  for (int i = 0; i < 100; ++i) {
    std::thread::id first;
    const auto body = [&](std::size_t begin, std::size_t) {
      if (begin == 0) first = std::this_thread::get_id();
    };
    pool->parallel_for(3, 1, body);
    CHECK(first == std::this_thread::get_id());
  }
}

TEST_CASE("pool: its threads are named, and the calling one works too") {
  const auto pool = make_pool(4);
  std::mutex mutex;
  std::set<std::string> names;
  on_all_threads(*pool, [&] {
    const std::lock_guard lock(mutex);
    names.insert(name_of_this_thread());
  });
  CHECK(names == std::set<std::string>{name_of_this_thread(), "millrace-1", "millrace-2", "millrace-3"});
}

TEST_CASE("pool: a pinned thread runs on one CPU, others on those of their process") {
  const std::vector<std::uint32_t> cpus = usable_cpus();
  for (const bool is_pinned : {false, true}) {
    const auto pool = make_pool(3, is_pinned);
    std::mutex mutex;
    std::vector<std::pair<std::string, int>> counts;
    on_all_threads(*pool, [&] {
      const std::lock_guard lock(mutex);
      counts.emplace_back(name_of_this_thread(), static_cast<int>(usable_cpus().size()));
    });
    for (const auto& [name, count] : counts) {
      const bool is_worker = name.starts_with("millrace-");
      CHECK(count == (is_worker && is_pinned ? 1 : static_cast<int>(cpus.size())));
    }
  }
}

TEST_CASE("pool: the application's threads receive signals for the process") {
  const auto pool = make_pool(2);
  on_all_threads(*pool, [&] {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    const bool is_worker = name_of_this_thread() == "millrace-1";
    CHECK((sigismember(&blocked, SIGINT) == 1) == is_worker);
    CHECK(sigismember(&blocked, SIGSEGV) == 0);
  });
}

TEST_CASE("pool: a worker that does not run gets the CPU of the caller that waits for it, until the end of its job") {
  const std::size_t num_cpus = usable_cpus().size();
  if (num_cpus < 2) return;
  const auto pool = make_pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto has_time = [&] { return std::chrono::steady_clock::now() < deadline; };
  std::atomic<bool> has_begun = false, has_moved = false;
  const auto body = [&](std::size_t, std::size_t) {
    if (std::this_thread::get_id() == caller) {
      while (!has_begun && has_time()) std::this_thread::yield();
      return;
    }
    has_begun = true;
    while (!has_moved && has_time()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      has_moved = usable_cpus().size() == 1;
    }
  };
  pool->parallel_for(2, 1, body);
  CHECK(has_moved);
  on_all_threads(*pool, [&] { CHECK(usable_cpus().size() == num_cpus); });
}

TEST_CASE("pool: one thread is the calling one alone") {
  const auto pool = make_pool(1);
  std::set<std::thread::id> ids;
  const auto body = [&](std::size_t, std::size_t) { ids.insert(std::this_thread::get_id()); };
  pool->parallel_for(100, 1, body);
  CHECK(ids == std::set<std::thread::id>{std::this_thread::get_id()});
  CHECK(pool->num_handovers() == 0);
}

TEST_CASE("pool: a loop of one chunk wakes nobody, a loop of more does, and the count says so") {
  const auto pool = make_pool(3);
  let_sleep(*pool);
  const auto nothing = [](std::size_t, std::size_t) {};
  for (int i = 0; i < 100; ++i) pool->parallel_for(5, 5, nothing);
  CHECK(pool->num_handovers() == 0);
  CHECK(pool->num_wakes() == 0);
  CHECK(pool->num_awake() == 0);
  pool->parallel_for(2, 1, nothing);
  CHECK(pool->num_handovers() == 1);
  CHECK(pool->num_wakes() == 1);
  let_sleep(*pool);
  pool->parallel_for(100, 1, nothing);
  CHECK(pool->num_handovers() == 3);
  CHECK(pool->num_wakes() == 3);
}

TEST_CASE("pool: the cost of waking a thread is measured from wakes alone, and stays within its limits") {
  const auto pool = make_pool(2);
  const std::uint32_t assumed = pool->wake_ns();
  CHECK(assumed == 10'000);
  const auto nothing = [](std::size_t, std::size_t) {};
  pool->parallel_for(1, 1, nothing);
  CHECK(pool->wake_ns() == assumed);
  const auto brief = [](std::size_t, std::size_t) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  bool has_changed = false;
  for (int i = 0; i < 50; ++i) {
    let_sleep(*pool);
    pool->parallel_for(2, 1, brief);
    has_changed |= pool->wake_ns() != assumed;
    CHECK(pool->wake_ns() >= ThreadPool::kMinWakeNs);
    CHECK(pool->wake_ns() <= ThreadPool::kMaxWakeNs);
  }
  CHECK(has_changed);
}

TEST_CASE("pool: a loop inside of a loop ends") {
  const auto pool = make_pool(3);
  std::atomic<int> count = 0;
  const auto inner = [&](std::size_t begin, std::size_t end) { count += static_cast<int>(end - begin); };
  const auto outer = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) pool->parallel_for(10, 1, inner);
  };
  for (int i = 0; i < 50; ++i) pool->parallel_for(10, 1, outer);
  CHECK(count == 5000);
}

TEST_CASE("pool: writes of the body are visible when the loop has ended, and in the next loop") {
  const auto pool = make_pool(4);
  std::vector<std::uint32_t> values(64);
  for (int iteration = 0; iteration < 2000; ++iteration) {
    const auto rotate = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) values[i] += 1;
    };
    pool->parallel_for(values.size(), 1 + static_cast<std::size_t>(iteration) % 20, rotate);
    values[static_cast<std::size_t>(iteration) % values.size()] += 1;
  }
  CHECK(std::accumulate(values.begin(), values.end(), 0u) == 2000 * 65);
}

TEST_CASE("pool: several threads use it concurrently, and share its workers") {
  for (const std::uint32_t num_threads : {2, 3, 8}) {
    const auto pool = make_pool(num_threads);
    std::vector<std::thread> callers;
    std::vector<std::uint64_t> sums(4);
    for (std::uint64_t& sum : sums) {
      callers.emplace_back([&pool, &sum] {
        for (int iteration = 0; iteration < 300; ++iteration) {
          std::atomic<std::uint64_t> part = 0;
          const auto add = [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) part += i;
          };
          pool->parallel_for(50, 4, add);
          sum += part;
          if (iteration % 100 == 99)
            std::this_thread::sleep_for(std::chrono::microseconds(300));  // workers go to sleep
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(sums == std::vector<std::uint64_t>(4, 300 * 49 * 50 / 2));
  }
}

TEST_CASE("pool: it ends while its threads spin, when they sleep, and when they never had work") {
  const auto nothing = [](std::size_t, std::size_t) {};
  for (int iteration = 0; iteration < 60; ++iteration) {
    const auto pool = make_pool(2 + static_cast<std::uint32_t>(iteration) % 4);
    if (iteration % 3 != 0) pool->parallel_for(100, 1, nothing);
    if (iteration % 3 == 2) let_sleep(*pool);
  }
}

TEST_CASE("pool: 0 threads and too many threads are refused") {
  CHECK(ThreadPool::create({.num_threads = 0}).status().message() == "thread pool: 0 threads, expected 1 to 1024");
  CHECK(create_thread_pool({.num_threads = 1025}).status().message() ==
        "thread pool: 1025 threads, expected 1 to 1024");
  CHECK(create_thread_pool({.num_threads = 2}).value()->concurrency() == 2);
}

TEST_CASE("a host has at most as many cores as CPUs, and at least one") {
  CHECK(num_physical_cores() >= 1);
  CHECK(num_physical_cores() <= usable_cpus().size());
}

}  // namespace millrace
