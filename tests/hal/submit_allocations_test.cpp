// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/test_kernels.h"
#include "tests/support/allocation_count.h"

namespace millrace {

TEST_CASE("the counter counts what operator new gives") {
  const std::uint64_t before = num_allocations();
  const auto one = std::make_unique<int>(1);
  const auto many = std::make_unique<double[]>(100);
  struct alignas(128) Aligned {
    int value;
  };
  const auto aligned = std::make_unique<Aligned>();
  // A compiler may leave out an allocation that nobody sees; clang does.
  [[maybe_unused]] const void* volatile seen = one.get();
  seen = many.get();
  seen = aligned.get();
  CHECK(num_allocations() - before == 3);
}

TEST_CASE("a submission to the cpu device allocates nothing, from the first on") {
  const auto device = create_cpu_device(TargetSpec::parse("cpu").value()).value();
  const std::vector<ExecutableImage> images = {scale_image(), routine_image(3, 4), workgroup_address_image(1000)};
  const SizeExpr n = Dim("n").at_most(1000);
  ListBuilder b;
  const KernelIndex scale = b.kernel(images[0].info);
  const KernelIndex routine = b.kernel(images[1].info);
  const KernelIndex address = b.kernel(images[2].info);
  const BindingIndex x = b.input("x", n * 4);
  const BindingIndex y = b.output("y", n * 4);
  const BindingIndex t = b.binding("t", BindingKind::kTransient, 64);
  b.fill(b.range(t, 0, 32), 0x0102, 2);
  b.copy(b.range(x, 0, n * 4), b.range(y, 0, n * 4));
  b.barrier();
  b.dispatch(scale, n, {b.range(x, 0, n * 4), b.range(y, 0, n * 4)}, {7});
  b.dispatch(address, 1, {b.range(t, 0, 8)}, {1000});
  b.dispatch(routine, 4, {b.range(t, 32, 16)});
  const auto recording = device->record(b.list, device->load(images).value()).value();

  std::vector<std::uint32_t> in(100, 6);
  std::vector<std::uint32_t> out(100);
  std::vector<std::uint32_t> scratch(16);
  const std::vector<BufferBinding> bindings = {bind(in), bind(out), bind(scratch)};
  const std::vector<std::int64_t> few = b.evaluate({{"n", 3}});
  const std::vector<std::int64_t> many = b.evaluate({{"n", 100}});
  const auto before = Semaphore::create(1);
  const auto after = Semaphore::create();
  bool is_ok = true;
  const std::uint64_t allocations = num_allocations();
  for (std::uint64_t i = 1; i <= 10; ++i) {
    const Timepoint wait[] = {{before, 1}};
    const Timepoint signal[] = {{after, i}};
    is_ok &= device
                 ->submit(*recording,
                          {.bindings = bindings, .sizes = i % 2 == 0 ? many : few, .wait = wait, .signal = signal})
                 .ok();
  }
  CHECK(num_allocations() == allocations);
  CHECK(is_ok);
  CHECK(out == std::vector<std::uint32_t>(100, 42));
}

TEST_CASE("a submission to a cpu device with threads allocates nothing, shared or not") {
  for (const bool shares_small_work : {false, true}) {
    const auto pool = create_thread_pool({.num_threads = 3}).value();
    const auto device =
        create_cpu_device(TargetSpec::parse("cpu").value(), {.executor = pool, .shares_small_work = shares_small_work})
            .value();
    const std::vector<ExecutableImage> images = {scale_image()};
    ListBuilder b;
    const BindingIndex x = b.input("x", 4000), y = b.output("y", 4000);
    const BindingIndex z = b.output("z", 400'000), zeros = b.output("zeros", 400'000);
    const KernelIndex scale = b.kernel(images[0].info);
    b.dispatch(scale, 1000, {b.range(x, 0, 4000), b.range(y, 0, 4000)}, {7});
    b.barrier();
    for (int i = 0; i < 100; ++i) b.dispatch(scale, 1000, {b.range(x, 0, 4000), b.range(z, 4000 * i, 4000)}, {8});
    b.fill(b.range(zeros, 0, 400'000), 0, 1);
    const auto recording = device->record(b.list, device->load(images).value()).value();
    std::vector<std::uint32_t> in(1000, 6), out(1000), many(100'000), none(100'000, 1);
    const std::vector<BufferBinding> bindings = {bind(in), bind(out), bind(many), bind(none)};
    const std::vector<std::int64_t> sizes = b.evaluate();
    bool is_ok = true;
    const std::uint64_t allocations = num_allocations();
    for (int i = 0; i < 100; ++i) is_ok &= device->submit(*recording, {.bindings = bindings, .sizes = sizes}).ok();
    CHECK(num_allocations() == allocations);
    CHECK(is_ok);
    CHECK(out == std::vector<std::uint32_t>(1000, 42));
    CHECK(many == std::vector<std::uint32_t>(100'000, 48));
    CHECK(none == std::vector<std::uint32_t>(100'000));
  }
}

}  // namespace millrace
