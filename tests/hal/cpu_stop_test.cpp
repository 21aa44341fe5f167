// SPDX-License-Identifier: Apache-2.0
// A dispatch of the cpu device that is asked to stop ends with the groups that have begun.
#include <atomic>
#include <stop_token>

#include <doctest/doctest.h>

#include "hal/host/thread_pool.h"
#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hal/test_kernels.h"
#include "tests/support/executors.h"

namespace millrace {
namespace {

using test::ExecutorKind;

std::shared_ptr<Device> device_on(std::shared_ptr<Executor> executor) {
  return create_cpu_device(TargetSpec{.family = "cpu"}, {.executor = std::move(executor), .shares_small_work = true})
      .value();
}

Status submit(const Replay& replay, std::stop_token stop) {
  return replay.device.submit(*replay.recording, {.sizes = replay.sizes, .stop = std::move(stop)});
}

}  // namespace

TEST_CASE("stop: no group begins after the request, and the groups that had begun end") {
  struct Case {
    std::shared_ptr<Executor> executor;
    std::uint32_t max_begun_by_others;  // groups that other workers may have begun
  };
  const Case cases[] = {{nullptr, 0},
                        {test::make_executor(ExecutorKind::kSerial, 3), 0},
                        {test::make_executor(ExecutorKind::kReverse, 3), 0},
                        {test::make_executor(ExecutorKind::kThreadEach, 3), 2},
                        {ThreadPool::create({.num_threads = 2}).value(), 1},
                        {ThreadPool::create({.num_threads = 8}).value(), 7}};
  for (const Case& each : cases) {
    const auto device = device_on(each.executor);
    std::stop_source stop;
    std::atomic<std::uint32_t> num_begun = 0, num_at_request = 0;
    bool stops = true;
    const ExecutableImage image =
        host_kernel_image({.name = "count"}, [&](const KernelArgs&, std::uint32_t first, std::uint32_t end) -> Status {
          const std::uint32_t now = num_begun += end - first;
          if (stops && now >= 20 && stop.request_stop()) num_at_request = num_begun.load();
          return {};
        });
    ListBuilder b;
    const KernelIndex kernel = b.kernel(image.info);
    b.dispatch(kernel, 1000, {});
    b.barrier();
    b.dispatch(kernel, 1000, {});
    const Replay replay(*device, b, {image});
    const Status status = submit(replay, stop.get_token());
    CHECK(status.code() == StatusCode::kCancelled);
    CHECK(status.message() == "kernel 'count': stopped on request; what it should have written is unspecified");
    CHECK(num_at_request >= 20);
    CHECK(num_begun <= num_at_request + each.max_begun_by_others);
    stops = false;
    num_begun = 0;
    REQUIRE(submit(replay, {}).ok());
    CHECK(num_begun == 2000);
    num_begun = 0;
    REQUIRE(submit(replay, std::stop_source().get_token()).ok());
    CHECK(num_begun == 2000);
  }
}

TEST_CASE("stop: the commands after the one that is running never begin, and the message names the first of them") {
  const auto device = device_on(nullptr);
  std::stop_source stop;
  int num_runs = 0;
  const ExecutableImage image =
      host_kernel_image({.name = "last_words"}, [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
        ++num_runs;
        stop.request_stop();
        return {};
      });
  ListBuilder b;
  const KernelIndex kernel = b.kernel(image.info);
  b.dispatch(kernel, 1, {});
  b.barrier();
  b.dispatch(kernel, 1, {});
  const Replay replay(*device, b, {image});
  const Status status = submit(replay, stop.get_token());
  CHECK(status.code() == StatusCode::kCancelled);
  CHECK(status.message() ==
        "submit: command 2 (dispatch 'last_words'): stopped on request; what it should have written is unspecified");
  CHECK(num_runs == 1);
}

TEST_CASE("stop: a run with a condition does not end before its running part, though those after it are done") {
  const auto device = device_on(nullptr);
  std::stop_source stop;
  const Timepoint end{Semaphore::create(), 1}, gate{Semaphore::create(), 1};
  bool is_over = true;
  const ExecutableImage image =
      host_kernel_image({.name = "work"}, [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
        stop.request_stop();  // which ends the read of the condition, as it waits
        is_over = !end.semaphore->query().ok();
        return {};
      });
  ListBuilder b;
  const BindingIndex flag = b.binding("flag", BindingKind::kTransient, 1);
  const auto nothing = std::make_shared<const CommandBlock>();
  b.dispatch(b.kernel(image.info), 1, {});
  b.list.commands.emplace_back(CondCommand{b.range(flag, 0, 1), nothing, nothing});
  const Replay replay(*device, b, {image});
  unsigned char byte = 0;
  const BufferBinding bindings[] = {{.data = &byte, .size_bytes = 1}};
  REQUIRE(device
              ->submit(*replay.recording, {.bindings = bindings,
                                           .sizes = replay.sizes,
                                           .wait = {&gate, 1},
                                           .signal = {&end, 1},
                                           .stop = stop.get_token()})
              .ok());
  REQUIRE(gate.semaphore->signal(1).ok());
  CHECK_FALSE(is_over);
  CHECK(end.wait().code() == StatusCode::kCancelled);
}

}  // namespace millrace
