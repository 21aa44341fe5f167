// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

std::shared_ptr<Executable> load(TestedDevice& device, std::vector<ExecutableImage> images) {
  return device.load(images).value();
}

}  // namespace

TEST_CASE("device: a host kernel runs every group exactly once, in non-empty runs") {
  on_every_host_kernel_device([](TestedDevice& device) {
    for (std::int64_t groups : {0, 1, 2, 3, 4, 100}) {
      std::vector<int> seen(static_cast<std::size_t>(groups));
      const ExecutableImage image =
          host_kernel_image(device.target(), {.name = "count"},
                            [&](const KernelArgs&, std::uint32_t first_group, std::uint32_t end_group) -> Status {
                              CHECK(first_group < end_group);
                              for (std::uint32_t group = first_group; group < end_group; ++group) ++seen.at(group);
                              return {};
                            });
      ListBuilder b;
      b.dispatch(b.kernel(image.info), groups, {});
      CAPTURE(groups);
      REQUIRE(run_once(device, b, load(device, {image}), {}).ok());
      CHECK(std::ranges::count(seen, 1) == groups);
    }
  });
}

TEST_CASE("device: a host kernel gets its buffers at their offsets, its sizes and a cleared status word") {
  on_every_host_memory_device([](TestedDevice& device) {
    if (!runs_host_kernels(device.target())) return;
    std::vector<float> x(16);
    std::vector<float> y(16);
    int calls = 0;
    const KernelInfo info{.name = "look", .num_buffers = 3, .num_sizes = 2, .buffer_is_written = {false, true, false}};
    const ExecutableImage image =
        host_kernel_image(device.target(), info, [&](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
          ++calls;
          CHECK(*args.status == 0);
          CHECK(args.buffers[0] == x.data() + 2);
          CHECK(args.buffers[1] == y.data());
          CHECK(args.buffers[2] == x.data() + 5);
          CHECK(args.sizes[0] == 7);
          CHECK(args.sizes[1] == -3);
          return {};
        });
    ListBuilder b;
    const BindingIndex in = b.input("x", 64);
    const BindingIndex out = b.output("y", 64);
    b.dispatch(b.kernel(info), 1, {b.range(in, 8, 8), b.range(out, 0, 64), b.range(in, 20, 4)}, {7, -3});
    REQUIRE(run_once(device, b, load(device, {image}), {bind(x), bind(y)}).ok());
    CHECK(calls == 1);
  });
}

TEST_CASE("device: a kernel runs every group") {
  on_every_device([](TestedDevice& device) {
    for (std::int64_t groups : {1, 2, 3, 4, 1000}) {
      std::vector<std::uint32_t> y(static_cast<std::size_t>(groups) + 1, 0xffff'ffff);
      std::vector<std::uint32_t> expected = y;
      std::iota(expected.begin(), expected.end() - 1, 0u);
      const ExecutableImage image = store_ids_on(device.target());
      ListBuilder b;
      const BindingIndex out = b.output("y", groups * 4);
      b.dispatch(b.kernel(image.info), groups, {b.range(out, 0, groups * 4)});
      REQUIRE(run_once(device, b, load(device, {image}), {bind(y)}).ok());
      CHECK(y == expected);
    }
  });
}

TEST_CASE("device: a kernel reads its sizes, and buffers that are only element-aligned") {
  on_every_device([](TestedDevice& device) {
    std::vector<std::uint32_t> x = {0, 1, 2, 3, 4};
    std::vector<std::uint32_t> y(5);
    const ExecutableImage image = scale_on(device.target());
    ListBuilder b;
    const BindingIndex in = b.input("x", 16);
    const BindingIndex out = b.output("y", 16);
    b.dispatch(b.kernel(image.info), 4, {b.range(in, 0, 16), b.range(out, 0, 16)}, {10});
    REQUIRE(run_once(device, b, load(device, {image}), {{x.data() + 1, 16}, {y.data() + 1, 16}}).ok());
    CHECK(y == std::vector<std::uint32_t>{0, 10, 20, 30, 40});
  });
}

TEST_CASE("device: machine code reads the constants after its code") {
  on_every_host_code_device([](TestedDevice& device) {
    std::vector<std::uint32_t> y(1);
    const ExecutableImage image = load_constant_image();
    ListBuilder b;
    const BindingIndex out = b.output("y", 4);
    b.dispatch(b.kernel(image.info), 1, {b.range(out, 0, 4)});
    REQUIRE(run_once(device, b, load(device, {image}), {bind(y)}).ok());
    CHECK(y[0] == 0x600dcafe);
  });
}

TEST_CASE("device: a routine runs around its microkernel, with the image's parameters") {
  on_every_host_code_device([](TestedDevice& device) {
    std::vector<std::uint32_t> y(5);
    const ExecutableImage image = routine_image(3, 5);
    ListBuilder b;
    const BindingIndex out = b.output("y", 20);
    b.dispatch(b.kernel(image.info), 5, {b.range(out, 0, 20)});
    REQUIRE(run_once(device, b, load(device, {image}), {bind(y)}).ok());
    CHECK(y == std::vector<std::uint32_t>{1, 4, 7, 10, 13});
  });
}

TEST_CASE("device: a kernel gets the workgroup memory of its plan, 64-byte aligned") {
  on_every_host_kernel_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {workgroup_address_image(1, device.target()),
                                                 workgroup_address_image(100, device.target()),
                                                 workgroup_address_image(65'536, device.target())};
    std::vector<std::uint64_t> y(3);
    ListBuilder b;
    const BindingIndex out = b.output("y", 24);
    for (std::int64_t i = 0; i < 3; ++i) {
      const ExecutableImage& image = images[static_cast<std::size_t>(i)];
      b.dispatch(b.kernel(image.info), 1, {b.range(out, 8 * i, 8)},
                 {static_cast<std::int64_t>(image.info.workgroup_bytes)});
    }
    REQUIRE(run_once(device, b, load(device, images), {bind(y)}).ok());
    for (std::uint64_t address : y) {
      CHECK(address != 0);
      CHECK(address % 64 == 0);
    }
  });
}

TEST_CASE("device: a list's kernels are those of one table, by index") {
  on_every_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {store_ids_on(device.target()), scale_on(device.target())};
    std::vector<std::uint32_t> ids(4);
    std::vector<std::uint32_t> y(4);
    ListBuilder b;
    const KernelIndex store_ids = b.kernel(images[0].info);
    const KernelIndex scale = b.kernel(images[1].info);
    const BindingIndex scratch = b.binding("ids", BindingKind::kTransient, 16);
    const BindingIndex out = b.output("y", 16);
    b.dispatch(store_ids, 4, {b.range(scratch, 0, 16)});
    b.barrier();
    b.dispatch(scale, 4, {b.range(scratch, 0, 16), b.range(out, 0, 16)}, {5});
    b.barrier();
    b.dispatch(store_ids, 1, {b.range(scratch, 12, 4)});
    const auto executable = load(device, images);
    REQUIRE(executable->num_kernels() == 2);
    CHECK(executable->info(KernelIndex{1}) == images[1].info);
    REQUIRE(run_once(device, b, executable, {bind(ids), bind(y)}).ok());
    CHECK(y == std::vector<std::uint32_t>{0, 5, 10, 15});
    CHECK(ids == std::vector<std::uint32_t>{0, 1, 2, 0});
  });
}

TEST_CASE("device: an executable lives as long as its recording") {
  on_every_device([](TestedDevice& device) {
    const ExecutableImage image = store_ids_on(device.target());
    ListBuilder b;
    const BindingIndex out = b.output("y", 8);
    b.dispatch(b.kernel(image.info), 2, {b.range(out, 0, 8)});
    const auto recording = device.record(b.list, load(device, {image})).value();
    std::vector<std::uint32_t> y(2);
    const std::vector<BufferBinding> bindings = {bind(y)};
    REQUIRE(device.submit(*recording, {.bindings = bindings, .sizes = b.evaluate()}).ok());
    CHECK(y == std::vector<std::uint32_t>{0, 1});
  });
}

}  // namespace millrace
