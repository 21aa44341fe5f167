// SPDX-License-Identifier: Apache-2.0
// Commands between the same two barriers run concurrently on a cpu device with threads, and no others do.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <thread>

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

std::shared_ptr<Device> device_on(std::shared_ptr<Executor> executor, bool shares_small_work = true) {
  return create_cpu_device(TargetSpec{.family = "cpu"},
                           {.executor = std::move(executor), .shares_small_work = shares_small_work})
      .value();
}

std::vector<std::shared_ptr<Executor>> every_executor() {
  return {nullptr,
          ThreadPool::create({.num_threads = 2}).value(),
          ThreadPool::create({.num_threads = 8}).value(),
          test::make_executor(ExecutorKind::kSerial, 3),
          test::make_executor(ExecutorKind::kReverse, 3),
          test::make_executor(ExecutorKind::kThreadEach, 3)};
}

/// Lists of dispatches without buffers, each of a kernel of its own.
struct Dispatches {
  explicit Dispatches(std::shared_ptr<Device> on) : device(std::move(on)) {}
  void add(std::string name, std::int64_t groups, Body body) {
    images.push_back(host_kernel_image({.name = std::move(name)}, std::move(body)));
    list.dispatch(list.kernel(images.back().info), groups, {});
  }
  Replay record() const { return {*device, list, images}; }

  std::shared_ptr<Device> device;
  ListBuilder list;
  std::vector<ExecutableImage> images;
};

Status succeed(const KernelArgs&, std::uint32_t, std::uint32_t) { return {}; }

/// Waits until the others have come too, but not for ever.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}
  bool come() {
    ++come_;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (come_ < expected_ && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return come_ >= expected_;
  }

 private:
  int expected_;
  std::atomic<int> come_ = 0;
};

/// Two dispatches of one group each, with or without a barrier between them. Each may touch `bytes` bytes, from which a
/// first run guesses its cost.
struct Pair {
  Pair(std::shared_ptr<Device> on, bool has_barrier, std::int64_t bytes, const Body& first, const Body& second)
      : device(std::move(on)), memory(static_cast<std::size_t>(bytes)) {
    const KernelInfo info{.name = "of_a_pair", .num_buffers = 1, .buffer_is_written = {false}};
    images = {host_kernel_image(info, first), host_kernel_image(info, second)};
    const BindingIndex x = b.input("x", bytes);
    b.dispatch(b.kernel(info), 1, {b.range(x, 0, bytes)});
    if (has_barrier) b.barrier();
    b.dispatch(b.kernel(info), 1, {b.range(x, 0, bytes)});
  }
  Status run() { return wait_for(Replay(*device, b, images), {bind(memory)}); }

  std::shared_ptr<Device> device;
  std::vector<std::uint8_t> memory;
  std::vector<ExecutableImage> images;
  ListBuilder b;
};

}  // namespace

TEST_CASE("stage: two kernels without a barrier between them run concurrently") {
  for (const auto& executor :
       {std::shared_ptr<Executor>(ThreadPool::create({.num_threads = 2}).value()),
        test::make_executor(ExecutorKind::kThreadEach, 2), test::make_executor(ExecutorKind::kThreadEach, 5)}) {
    Meeting meeting(2);
    std::atomic<int> num_met = 0;
    const Body meet = [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
      num_met += meeting.come() ? 1 : 0;
      return {};
    };
    CHECK(Pair(device_on(executor), false, 64, meet, meet).run().ok());
    CHECK(num_met == 2);
  }
}

TEST_CASE("stage: two dispatches that are too small to be shared run concurrently, unless a barrier is between them") {
  // 300,000 bytes count as 15 us, and who says that none of his threads is awake is given work of 20 us and more.
  struct Asleep final : Executor {
    std::uint32_t concurrency() const override { return 2; }
    void parallel_for(std::size_t count, std::size_t chunk, RangeBody body) override {
      ++num_loops;
      inner->parallel_for(count, chunk, body);
    }
    std::shared_ptr<Executor> inner = test::make_executor(ExecutorKind::kThreadEach, 2);
    int num_loops = 0;
  };
  for (const bool has_barrier : {false, true}) {
    const auto executor = std::make_shared<Asleep>();
    Meeting meeting(2);
    std::atomic<int> num_met = 0, num_inside = 0, num_beside = 0;
    const Body body = [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
      num_beside += ++num_inside > 1 ? 1 : 0;
      if (!has_barrier && meeting.come()) ++num_met;
      --num_inside;
      return {};
    };
    CHECK(Pair(device_on(executor, false), has_barrier, 300'000, body, body).run().ok());
    CHECK(executor->num_loops == (has_barrier ? 0 : 1));
    CHECK(num_met == (has_barrier ? 0 : 2));
    CHECK(num_beside == (has_barrier ? 0 : 1));
  }
}

TEST_CASE("stage: a command never begins before all commands before its barrier have ended") {
  constexpr int kStages = 6;
  for (const auto& executor : every_executor()) {
    Dispatches all(device_on(executor));
    std::atomic<int> num_groups_done = 0, num_early = 0, num_late = 0;
    int expected = 0;
    for (int stage = 0; stage < kStages; ++stage) {
      const int first = expected;
      int last = first;
      for (int kernel = 0; kernel <= stage; ++kernel) last += 1 + 7 * kernel;
      for (int kernel = 0; kernel <= stage; ++kernel) {
        all.add("counts", 1 + 7 * kernel,
                [&, first, last](const KernelArgs&, std::uint32_t begin, std::uint32_t end) -> Status {
                  if (num_groups_done < first) ++num_early;
                  if (num_groups_done >= last) ++num_late;
                  std::this_thread::yield();
                  num_groups_done += static_cast<int>(end - begin);
                  return {};
                });
      }
      expected = last;
      all.list.barrier();
      if (stage % 2 == 0) all.list.barrier();
    }
    const Replay replay = all.record();
    for (int run = 0; run < 50; ++run) {
      num_groups_done = 0;
      CHECK(wait_for(replay, {}).ok());
      CHECK(num_groups_done == expected);
    }
    CHECK(num_early == 0);
    CHECK(num_late == 0);
  }
}

TEST_CASE("stage: concurrent fills, copies and kernels write what each alone would, on every executor") {
  constexpr std::int64_t kLarge = 300'003, kWords = 100'000;
  for (const auto& executor : every_executor()) {
    for (const bool shares_small_work : {false, true}) {
      const auto device = device_on(executor, shares_small_work);
      const std::vector<ExecutableImage> images = {scale_image(), store_ids_image()};
      ListBuilder b;
      const BindingIndex x = b.input("x", kLarge), y = b.output("y", kLarge), words = b.input("words", 4 * kWords),
                         scaled = b.output("scaled", 4 * kWords), filled = b.output("filled", 8 * kWords),
                         ids = b.output("ids", 4 * kWords), small = b.output("small", 6);
      const KernelIndex scale = b.kernel(images[0].info), store = b.kernel(images[1].info);
      b.copy(b.range(x, 0, kLarge), b.range(y, 0, kLarge));
      b.dispatch(scale, kWords, {b.range(words, 0, 4 * kWords), b.range(scaled, 0, 4 * kWords)}, {Dim("factor")});
      b.fill(b.range(filled, 0, 8 * kWords), 0x0123456789abcdef, 8);
      b.dispatch(store, 0, {b.range(ids, 0, 0)});
      b.copy(b.range(x, 5, 0), b.range(small, 0, 0));
      b.fill(b.range(small, 0, 6), 0xbeef, 2);
      b.dispatch(store, kWords, {b.range(ids, 0, 4 * kWords)});
      Replay replay(*device, b, images, {{"factor", 1}});
      std::vector<std::uint8_t> in(kLarge), in_words(4 * kWords);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i * 7 + i / 1000);
      std::vector<std::uint32_t> from(kWords, 3);
      for (std::uint32_t run = 1; run <= 8; ++run) {
        std::vector<std::uint8_t> out(kLarge);
        std::vector<std::uint32_t> out_scaled(kWords), out_ids(kWords);
        std::vector<std::uint64_t> out_filled(kWords);
        std::vector<std::uint16_t> out_small(3);
        replay.sizes = b.evaluate({{"factor", run}});
        REQUIRE(wait_for(replay, {bind(in), bind(out), bind(from), bind(out_scaled), bind(out_filled), bind(out_ids),
                                  bind(out_small)})
                    .ok());
        CHECK(out == in);
        CHECK(out_scaled == std::vector<std::uint32_t>(kWords, 3 * run));
        CHECK(out_filled == std::vector<std::uint64_t>(kWords, 0x0123456789abcdef));
        CHECK(out_small == std::vector<std::uint16_t>(3, 0xbeef));
        bool counts_up = true;
        for (std::uint32_t i = 0; i < kWords; ++i) counts_up &= out_ids[i] == i;
        CHECK(counts_up);
      }
    }
  }
}

TEST_CASE("stage: the first failing command in the list is reported, on every executor and each time") {
  const Body report = [](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
    std::atomic_ref<std::uint32_t>(*args.status).fetch_or(1);
    return {};
  };
  const Body fail = [](const KernelArgs&, std::uint32_t first, std::uint32_t end) -> Status {
    return first <= 40 && 40 < end ? internal_error("group 40") : Status();
  };
  const Body throw_it = [](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
    throw std::runtime_error("out of tune");
  };
  struct Failing {
    const char* name;
    Body body;
    const char* message;
  };
  const std::vector<Failing> kinds = {
      {"reports", report, "kernel 'reports': index out of range; give indices within the axis that they select from"},
      {"fails", fail, "kernel 'fails': group 40"},
      {"throws", throw_it,
       "submit: command 2 (dispatch 'throws'): its kernel threw an exception: out of tune; catch it in the kernel"}};
  for (const auto& executor : every_executor()) {
    for (const bool shares_small_work : {false, true}) {
      for (std::size_t first = 0; first < kinds.size(); ++first) {
        std::atomic<int> num_after = 0;
        Dispatches all(device_on(executor, shares_small_work));
        all.add("first", 30, succeed);
        all.add("second", 1, succeed);
        for (std::size_t i = 0; i < kinds.size(); ++i) {
          const Failing& kind = kinds[(first + i) % kinds.size()];
          all.add(kind.name, 64, kind.body);
        }
        all.list.barrier();
        all.add("after", 1, [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
          ++num_after;
          return {};
        });
        const Replay replay = all.record();
        for (int run = 0; run < 20; ++run) CHECK(wait_for(replay, {}).message() == kinds[first].message);
        CHECK(num_after == 0);
      }
    }
  }
}

TEST_CASE("stage: the explainer is asked once, about the first command that reported an error") {
  struct Explainer final : FailureExplainer {
    Status explain(const DispatchFailure& failure, Status) override {
      asked.push_back(failure);
      return invalid_argument("explained");
    }
    std::vector<DispatchFailure> asked;
  };
  const Body report = [](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
    std::atomic_ref<std::uint32_t>(*args.status).fetch_or(1);
    return {};
  };
  for (const auto& executor : every_executor()) {
    Dispatches all(device_on(executor));
    all.add("fine", 40, succeed);
    all.add("reports", 40, report);
    all.add("reports_too", 40, report);
    const Replay replay = all.record();
    Explainer explainer;
    const Status status = replay.device.submit(*replay.recording, {.sizes = replay.sizes, .explainer = &explainer});
    CHECK(status.message() == "explained");
    CHECK(explainer.asked == std::vector<DispatchFailure>{{CommandId{1}, KernelIndex(1), 1}});
  }
}

TEST_CASE("stage: a measured submission runs commands one after another, and their groups on all threads") {
  const auto device = device_on(ThreadPool::create({.num_threads = 2}).value());
  Dispatches all(device);
  std::array<std::atomic<int>, 3> num_inside = {};
  std::atomic<int> num_beside = 0;
  for (std::size_t i = 0; i < num_inside.size(); ++i) {
    all.add("looks", 50, [&, i](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
      ++num_inside[i];
      for (std::size_t other = 0; other < num_inside.size(); ++other) {
        if (other != i && num_inside[other] > 0) ++num_beside;
      }
      std::this_thread::yield();
      --num_inside[i];
      return {};
    });
  }
  const Replay replay = all.record();
  for (int run = 0; run < 50; ++run) {
    SubmissionTimes times;
    CHECK(device->submit(*replay.recording, {.sizes = replay.sizes, .times = &times}).ok());
    REQUIRE(times.commands.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(index_of(times.commands[i].command) == i);
      CHECK(times.commands[i].begin_ns == (i == 0 ? 0 : times.commands[i - 1].end_ns));
    }
  }
  CHECK(num_beside == 0);
}

TEST_CASE("stage: a request to stop ends every command of the stage, and no command after its barrier begins") {
  for (const auto& executor : every_executor()) {
    std::stop_source stop;
    std::atomic<std::uint32_t> num_begun = 0, num_at_request = 0;
    std::atomic<int> num_after = 0;
    const Body count = [&](const KernelArgs&, std::uint32_t first, std::uint32_t end) -> Status {
      const std::uint32_t now = num_begun += end - first;
      if (now >= 20 && stop.request_stop()) num_at_request = num_begun.load();
      return {};
    };
    Dispatches all(device_on(executor));
    all.add("count", 1000, count);
    all.add("count", 1000, count);
    all.list.barrier();
    all.add("after", 1, [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
      ++num_after;
      return {};
    });
    const Replay replay = all.record();
    const Status status = replay.device.submit(*replay.recording, {.sizes = replay.sizes, .stop = stop.get_token()});
    CHECK(status.code() == StatusCode::kCancelled);
    CHECK(status.message() == "kernel 'count': stopped on request; what it should have written is unspecified");
    CHECK(num_at_request >= 20);
    CHECK(num_begun <= num_at_request + (executor == nullptr ? 0 : executor->concurrency() - 1));
    CHECK(num_after == 0);
  }
}

TEST_CASE("stage: the message of a stop between two stages names the command that would have been next") {
  const auto device = device_on(ThreadPool::create({.num_threads = 2}).value());
  std::stop_source stop;
  Dispatches all(device);
  const Body last_words = [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
    stop.request_stop();
    return {};
  };
  all.add("last_words", 1, last_words);
  all.list.barrier();
  const BindingIndex y = all.list.output("y", 8);
  all.list.fill(all.list.range(y, 0, 8), 1, 1);
  std::vector<std::uint64_t> out(1);
  const std::vector<BufferBinding> bindings = {bind(out)};
  const Replay replay = all.record();
  const Status status =
      device->submit(*replay.recording, {.bindings = bindings, .sizes = replay.sizes, .stop = stop.get_token()});
  CHECK(status.message() == "submit: command 2 (fill): stopped on request; what it should have written is unspecified");
  CHECK(out[0] == 0);
}

TEST_CASE("stage: workers have workgroup memory of their own, whichever command they run") {
  for (const auto& executor : every_executor()) {
    Dispatches all(device_on(executor));
    std::atomic<int> num_wrong = 0;
    for (const std::uint32_t words : {250u, 10u, 1000u}) {
      const KernelInfo info{.name = "keep", .workgroup_bytes = 4 * words};
      all.images.push_back(
          host_kernel_image(info, [&, words](const KernelArgs& args, std::uint32_t first, std::uint32_t) -> Status {
            auto* memory = static_cast<std::uint32_t*>(args.workgroup_memory);
            std::fill_n(memory, words, first + words);
            std::this_thread::yield();
            if (std::count(memory, memory + words, first + words) != words) ++num_wrong;
            return {};
          }));
      all.list.dispatch(all.list.kernel(info), 50, {});
    }
    const Replay replay = all.record();
    for (int run = 0; run < 10; ++run) CHECK(wait_for(replay, {}).ok());
    CHECK(num_wrong == 0);
  }
}

}  // namespace millrace
