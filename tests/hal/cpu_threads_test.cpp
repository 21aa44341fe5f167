// SPDX-License-Identifier: Apache-2.0
// The cpu device with threads: what is handed over, to which thread, in which environment, and how failures are
// reported.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <xmmintrin.h>

#include <doctest/doctest.h>

#include "hal/host/thread_pool.h"
#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hal/test_kernels.h"
#include "tests/support/executors.h"

namespace millrace {
namespace {

using test::ExecutorKind;
using Body = HostKernelBody;

std::shared_ptr<ThreadPool> make_pool(std::uint32_t num_threads) {
  return ThreadPool::create({.num_threads = num_threads}).value();
}

std::shared_ptr<Device> device_on(std::shared_ptr<Executor> executor, bool shares_small_work = true) {
  return create_cpu_device(TargetSpec{.family = "cpu"},
                           {.executor = std::move(executor), .shares_small_work = shares_small_work})
      .value();
}

/// The executors on which each failure must look the same.
std::vector<std::shared_ptr<Executor>> every_executor() {
  return {make_pool(2),
          make_pool(3),
          make_pool(8),
          test::make_executor(ExecutorKind::kSerial, 3),
          test::make_executor(ExecutorKind::kReverse, 3),
          test::make_executor(ExecutorKind::kThreadEach, 3)};
}

/// One dispatch of `groups` groups.
Replay one_dispatch(Device& device, std::int64_t groups, KernelInfo info, Body body) {
  const ExecutableImage image = host_kernel_image(std::move(info), std::move(body));
  ListBuilder b;
  b.dispatch(b.kernel(image.info), groups, {});
  return {device, b, {image}};
}

/// A kernel that takes so long for each group.
Body busy(std::chrono::nanoseconds each) {
  return [each](const KernelArgs&, std::uint32_t first, std::uint32_t end) -> Status {
    const auto until = std::chrono::steady_clock::now() + each * (end - first);
    while (std::chrono::steady_clock::now() < until) continue;
    return {};
  };
}

}  // namespace

TEST_CASE("threads: dispatches of one group, and short ones, run on the calling thread and wake no other") {
  const auto pool = make_pool(3);
  const auto device = device_on(pool, false);
  const Replay one = one_dispatch(*device, 1, {.name = "one"}, busy(std::chrono::microseconds(100)));
  const Replay tiny = one_dispatch(*device, 8, {.name = "tiny"}, busy(std::chrono::nanoseconds(0)));
  while (pool->num_awake() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 0; i < 200; ++i) CHECK(wait_for(one, {}).ok());
  CHECK(pool->num_handovers() == 0);
  // Where the system runs something else during a measurement, it takes the next one, 64 runs later, to know better.
  bool is_handed_over = true;
  for (int i = 0; i < 50 && is_handed_over; ++i) {
    const std::uint64_t before = pool->num_handovers();
    for (int run = 0; run < 200; ++run) CHECK(wait_for(tiny, {}).ok());
    is_handed_over = pool->num_handovers() != before;
  }
  CHECK_FALSE(is_handed_over);
  CHECK(pool->num_wakes() <= pool->num_handovers());
}

TEST_CASE("threads: a long dispatch is shared, from its first run on") {
  const auto pool = make_pool(2);
  const auto device = device_on(pool, false);
  const Replay replay = one_dispatch(*device, 64, {.name = "long"}, busy(std::chrono::microseconds(50)));
  for (std::uint64_t run = 1; run <= 10; ++run) {
    CHECK(wait_for(replay, {}).ok());
    CHECK(pool->num_handovers() == run);
  }
}

TEST_CASE("threads: the groups of one dispatch run on several threads, each once") {
  for (const std::uint32_t num_threads : {2u, 3u, 8u}) {
    const auto device = device_on(make_pool(num_threads));
    std::vector<int> seen(1000);
    std::mutex mutex;
    std::set<std::thread::id> ids;
    const Replay replay = one_dispatch(*device, 1000, {.name = "count"},
                                       [&](const KernelArgs&, std::uint32_t first, std::uint32_t end) -> Status {
                                         for (std::uint32_t group = first; group < end; ++group) ++seen[group];
                                         std::this_thread::sleep_for(std::chrono::microseconds(200));
                                         const std::lock_guard lock(mutex);
                                         ids.insert(std::this_thread::get_id());
                                         return {};
                                       });
    for (int run = 1; ids.size() < 2; ++run) {
      REQUIRE(wait_for(replay, {}).ok());
      CHECK(std::ranges::count(seen, run) == 1000);
    }
    CHECK(ids.size() <= num_threads);
  }
}

TEST_CASE("threads: a worker that stalls delays only the piece that it has begun") {
  constexpr std::uint32_t kGroups = 4096;
  for (const std::uint32_t num_threads : {2u, 3u, 8u}) {
    const auto device = device_on(make_pool(num_threads));
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> is_one_held = false, is_rest_done = false;
    std::atomic<std::uint32_t> num_done = 0, num_held = 0;
    const Replay replay =
        one_dispatch(*device, kGroups, {.name = "held_up"},
                     [&](const KernelArgs&, std::uint32_t first, std::uint32_t end) -> Status {
                       if (std::this_thread::get_id() != caller && !is_one_held.exchange(true)) {
                         num_held = end - first;
                         const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
                         while (num_done + num_held < kGroups && std::chrono::steady_clock::now() < deadline) {
                           std::this_thread::yield();
                         }
                         is_rest_done = num_done + num_held == kGroups;
                       }
                       num_done += end - first;
                       return {};
                     });
    // A worker may be late, and all of its work then is the others'.
    while (!is_one_held) {
      num_done = 0;
      REQUIRE(wait_for(replay, {}).ok());
      CHECK(num_done == kGroups);
    }
    CHECK(is_rest_done);
    CHECK(num_held <= kGroups / num_threads / 8 + 16);  // an eighth of its share, in sixteens
  }
}

TEST_CASE("threads: each worker has workgroup memory of its own, aligned, of the whole size") {
  constexpr std::size_t kPage = 4096;
  for (const auto& executor : every_executor()) {
    for (const std::size_t size : {std::size_t{1000}, kPage - 4, kPage, 3 * kPage + 4}) {
      const auto device = device_on(executor);
      std::atomic<int> num_wrong = 0;
      const KernelInfo info{.name = "keep", .workgroup_bytes = size};
      const auto count = static_cast<std::ptrdiff_t>(size / 4);
      const std::size_t alignment = size < kPage ? 64 : kPage;
      const Replay replay =
          one_dispatch(*device, 200, info, [&](const KernelArgs& args, std::uint32_t first, std::uint32_t) -> Status {
            auto* memory = static_cast<std::uint32_t*>(args.workgroup_memory);
            if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) ++num_wrong;
            std::fill_n(memory, count, first);
            std::this_thread::yield();
            if (std::count(memory, memory + count, first) != count) ++num_wrong;
            return {};
          });
      for (int run = 0; run < 10; ++run) CHECK(wait_for(replay, {}).ok());
      CHECK(num_wrong == 0);
    }
  }
}

TEST_CASE("threads: a kernel's memory between calls belongs to one dispatch and one worker") {
  struct State {
    std::uint64_t tag;
    void* memory;
  };
  for (const auto& executor : every_executor()) {
    const auto device = device_on(executor);
    std::atomic<int> num_persisted = 0, num_wrong = 0;
    ListBuilder b;
    std::vector<ExecutableImage> images;
    const auto add = [&](std::uint64_t tag) {
      const auto body = [&, tag](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
        State& state = *static_cast<State*>(args.worker_state);
        if (state.tag != 0) ++num_persisted;
        if (state.tag != 0 && (state.tag != tag || state.memory != args.workgroup_memory)) ++num_wrong;
        state = {tag, args.workgroup_memory};
        return {};
      };
      images.push_back(host_kernel_image({.name = "keep", .workgroup_bytes = 64}, body));
      b.dispatch(b.kernel(images.back().info), 100, {});
    };
    add(1);
    add(2);
    b.barrier();
    add(3);
    const Replay replay(*device, b, images);
    for (int run = 0; run < 10; ++run) CHECK(wait_for(replay, {}).ok());
    CHECK(num_persisted > 0);
    CHECK(num_wrong == 0);
  }
}

TEST_CASE("threads: kernels have the default float environment on every thread") {
  constexpr unsigned kFlushAndRoundUp = 0x1f80 | 0x8040 | 0x4000;
  for (const auto& executor : every_executor()) {
    const auto device = device_on(executor);
    std::atomic<unsigned> seen = 0x1f80;
    const Replay replay =
        one_dispatch(*device, 100, {.name = "look"}, [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
          const unsigned control = _mm_getcsr() & ~0x3fu;
          if (control != 0x1f80) seen = control;
          std::this_thread::yield();
          return {};
        });
    const unsigned before = _mm_getcsr();
    _mm_setcsr(kFlushAndRoundUp);
    const Status status = wait_for(replay, {});
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK(status.ok());
    CHECK(seen == 0x1f80);
    CHECK((after & ~0x3fu) == kFlushAndRoundUp);
  }
}

TEST_CASE("threads: errors that kernels report on several threads are joined") {
  for (const auto& executor : every_executor()) {
    const auto device = device_on(executor);
    const Replay replay =
        one_dispatch(*device, 64, {.name = "reports"}, [](const KernelArgs& args, std::uint32_t first, std::uint32_t) {
          std::atomic_ref<std::uint32_t>(*args.status).fetch_or(first < 32 ? 1u : 2u);
          return Status();
        });
    CHECK(wait_for(replay, {}).message() ==
          "kernel 'reports': status word 0x00000003, expected only bits of KernelError; please report it");
  }
}

TEST_CASE("threads: the failure of the lowest group is reported, on every executor and each time") {
  for (const auto& executor : every_executor()) {
    const auto device = device_on(executor);
    const Replay replay = one_dispatch(*device, 100, {.name = "fails"},
                                       [](const KernelArgs&, std::uint32_t first, std::uint32_t end) -> Status {
                                         for (std::uint32_t group = first; group < end; ++group) {
                                           if (group % 40 == 37)
                                             return internal_error("group " + std::to_string(group));
                                         }
                                         return {};
                                       });
    for (int run = 0; run < 20; ++run) CHECK(wait_for(replay, {}).message() == "kernel 'fails': group 37");
  }
}

TEST_CASE("threads: an exception of a kernel becomes the status, whichever thread threw it, and the device goes on") {
  for (const auto& executor : every_executor()) {
    const auto device = device_on(executor);
    std::atomic<int> what = 0;
    const Replay replay = one_dispatch(*device, 64, {.name = "throws"},
                                       [&](const KernelArgs&, std::uint32_t, std::uint32_t end) -> Status {
                                         if (end < 64) return {};
                                         if (what == 1) throw std::runtime_error("out of tune");
                                         if (what == 2) throw 3;
                                         if (what == 3) throw std::bad_alloc();
                                         return {};
                                       });
    const std::string expected[] = {"",
                                    "submit: command 0 (dispatch 'throws'): its kernel threw an "
                                    "exception: out of tune; catch it in the kernel",
                                    "submit: command 0 (dispatch 'throws'): its kernel threw an "
                                    "exception: not a std::exception; catch it in the kernel",
                                    "out of memory"};
    for (int iteration = 0; iteration < 40; ++iteration) {
      what = iteration % 4;
      CHECK(wait_for(replay, {}).message() == expected[iteration % 4]);
    }
  }
}

TEST_CASE("threads: work that a kernel submits runs on the kernel's thread") {
  const auto pool = make_pool(3);
  const auto device = device_on(pool);
  std::atomic<int> num_elsewhere = 0, num_inner = 0;
  static thread_local int depth = 0;
  const Replay inner =
      one_dispatch(*device, 50, {.name = "inner"}, [&](const KernelArgs&, std::uint32_t first, std::uint32_t end) {
        if (depth == 0) ++num_elsewhere;
        num_inner += static_cast<int>(end - first);
        return Status();
      });
  const Replay outer =
      one_dispatch(*device, 20, {.name = "outer"}, [&](const KernelArgs&, std::uint32_t first, std::uint32_t end) {
        ++depth;
        Status status;
        for (std::uint32_t group = first; group < end && status.ok(); ++group) status = wait_for(inner, {});
        --depth;
        return status;
      });
  CHECK(wait_for(outer, {}).ok());
  CHECK(num_inner == 1000);
  CHECK(num_elsewhere == 0);
}

TEST_CASE("threads: an executor that leaves out work is reported") {
  struct Lazy final : Executor {
    std::uint32_t concurrency() const override { return 2; }
    void parallel_for(std::size_t, std::size_t, RangeBody) override {}
  };
  const auto device = device_on(std::make_shared<Lazy>());
  const Replay replay = one_dispatch(*device, 4, {.name = "left_out"}, busy(std::chrono::nanoseconds(0)));
  CHECK(wait_for(replay, {}).message() ==
        "submit: command 0 (dispatch 'left_out'): the executor left out work; let parallel_for() call the body "
        "for each index");
}

TEST_CASE("threads: an executor of no threads is refused") {
  struct None final : Executor {
    std::uint32_t concurrency() const override { return 0; }
    void parallel_for(std::size_t, std::size_t, RangeBody) override {}
  };
  CHECK(create_cpu_device(TargetSpec{.family = "cpu"}, {.executor = std::make_shared<None>()}).status().message() ==
        "device 'cpu': the executor's concurrency is 0, expected at least 1");
}

TEST_CASE("threads: a device's name says which pool it has, and its description how many threads work") {
  const DeviceSpec spec = DeviceSpec::parse("cpu:baseline,pinned=on,threads=3").value();
  const auto device = cpu_driver().open(spec).value();
  CHECK(device->name() == "cpu:threads=3,pinned=on");
  CHECK(device->info().description == "this host, baseline, 3 threads");
  CHECK(device->info().is_synchronous);
  CHECK(cpu_driver().open(DeviceSpec::parse("cpu:threads=1").value()).value()->name() == "cpu");
  const auto own = device_on(test::make_executor(ExecutorKind::kSerial, 5));
  CHECK(own->name() == "cpu");
  CHECK(own->info().description == "this host, baseline, 5 threads");
}

TEST_CASE("threads: devices of one driver share a pool as long as one of them lives") {
  const auto num_threads = [] {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word && word != "Threads:") continue;
    int count = 0;
    status >> count;
    return count;
  };
  const int before = num_threads();
  const Driver driver = cpu_driver(), copy = driver;
  const DeviceSpec four = DeviceSpec::parse("cpu:threads=4").value();
  std::vector<std::shared_ptr<Device>> devices;
  for (const Driver& each : {driver, copy}) {
    for (int i = 0; i < 3; ++i) devices.push_back(each.open(four).value());
  }
  CHECK(num_threads() == before + 3);
  devices.push_back(driver.open(DeviceSpec::parse("cpu:threads=2").value()).value());
  CHECK(num_threads() == before + 4);
  devices.push_back(cpu_driver().open(four).value());  // another driver
  CHECK(num_threads() == before + 7);
  devices.clear();
  CHECK(num_threads() == before);
}

TEST_CASE("threads: several threads submit to devices of one pool concurrently") {
  const auto pool = make_pool(3);
  std::vector<std::thread> threads;
  std::atomic<int> num_right = 0;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto device = device_on(pool, t % 2 == 0);
      const std::vector<ExecutableImage> images = {scale_image()};
      ListBuilder b;
      const BindingIndex x = b.input("x", 400), y = b.output("y", 400);
      b.dispatch(b.kernel(images[0].info), 100, {b.range(x, 0, 400), b.range(y, 0, 400)}, {Dim("factor")});
      Replay replay(*device, b, images, {{"factor", 1}});
      std::vector<std::uint32_t> in(100, t + 1), out(100);
      for (std::uint32_t run = 0; run < 200; ++run) {
        replay.sizes = b.evaluate({{"factor", run}});
        if (wait_for(replay, {bind(in), bind(out)}).ok() && out == std::vector<std::uint32_t>(100, (t + 1) * run)) {
          ++num_right;
        }
        if (run % 50 == 49) std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_right == 800);
}

}  // namespace millrace
