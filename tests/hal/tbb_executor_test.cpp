// SPDX-License-Identifier: Apache-2.0
// Built where oneTBB is found.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/interop/tbb.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hal/test_kernels.h"

namespace millrace {

TEST_CASE("tbb: a loop calls its body for each index once, in ranges of at most a chunk") {
  TbbExecutor executor(3);
  CHECK(executor.concurrency() == 3);
  CHECK(TbbExecutor().concurrency() >= 1);
  for (const std::size_t count : {0u, 1u, 7u, 1000u}) {
    for (const std::size_t chunk : {1u, 3u, 5000u}) {
      std::vector<int> seen(count);
      std::atomic<bool> is_right = true;
      const auto body = [&](std::size_t begin, std::size_t end) {
        if (begin >= end || end - begin > chunk) is_right = false;
        for (std::size_t i = begin; i < end; ++i) ++seen[i];
      };
      executor.parallel_for(count, chunk, body);
      CHECK(is_right);
      CHECK(std::ranges::count(seen, 1) == static_cast<std::ptrdiff_t>(count));
    }
  }
}

TEST_CASE("tbb: devices of several threads run their dispatches on its threads") {
  const auto executor = std::make_shared<TbbExecutor>(4);
  std::vector<std::thread> threads;
  std::atomic<int> num_right = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const auto device =
          create_cpu_device(TargetSpec{.family = "cpu"}, {.executor = executor, .shares_small_work = true}).value();
      const std::vector<ExecutableImage> images = {scale_image()};
      ListBuilder b;
      const BindingIndex x = b.input("x", 4000), y = b.output("y", 4000);
      b.dispatch(b.kernel(images[0].info), 1000, {b.range(x, 0, 4000), b.range(y, 0, 4000)}, {3});
      const Replay replay(*device, b, images);
      std::vector<std::uint32_t> in(1000, 5), out(1000);
      const BufferBinding bindings[] = {{in.data(), 4000}, {out.data(), 4000}};
      for (int run = 0; run < 100; ++run) {
        std::ranges::fill(out, 0u);
        const Status status = wait_for(replay, {bindings[0], bindings[1]});
        if (status.ok() && out == std::vector<std::uint32_t>(1000, 15)) ++num_right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_right == 300);
}

TEST_CASE("tbb: an exception of a kernel becomes the status") {
  const auto device = create_cpu_device(TargetSpec{.family = "cpu"},
                                        {.executor = std::make_shared<TbbExecutor>(3), .shares_small_work = true})
                          .value();
  const ExecutableImage image = host_kernel_image(
      {.name = "throws"},
      [](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status { throw std::runtime_error("out of tune"); });
  ListBuilder b;
  b.dispatch(b.kernel(image.info), 50, {});
  CHECK(wait_for(Replay(*device, b, {image}), {}).message() ==
        "submit: command 0 (dispatch 'throws'): its kernel threw an exception: out of tune; catch it "
        "in the kernel");
}

}  // namespace millrace
