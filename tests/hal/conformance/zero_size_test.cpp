// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/test_kernels.h"

namespace millrace {

TEST_CASE("device: an empty list is recorded and submitted") {
  on_every_device([](TestedDevice& device) {
    CHECK(run_once(device, ListBuilder(), nullptr, {}).ok());
    CHECK(run_once(device, ListBuilder(), device.load({}).value(), {}).ok());
  });
}

TEST_CASE("device: no images make an executable of no kernels") {
  on_every_device([](TestedDevice& device) { CHECK(device.load({}).value()->num_kernels() == 0); });
}

TEST_CASE("device: an empty buffer is allocated and bound") {
  on_every_device([](TestedDevice& device) {
    const auto buffer = device.allocate(0).value();
    CHECK(buffer->size_bytes() == 0);
    ListBuilder b;
    const BindingIndex y = b.output("y", 0);
    b.fill(b.range(y, 0, 0), 1, 8);
    CHECK(run_once(device, b, nullptr, {buffer->binding()}).ok());
  });
}

TEST_CASE("device: null may be bound where no bytes are needed, and commands on no bytes do nothing") {
  on_every_device([](TestedDevice& device) {
    const ExecutableImage image = scale_on(device.target());
    ListBuilder b;
    const BindingIndex x = b.input("x", 0);
    const BindingIndex y = b.output("y", 0);
    b.fill(b.range(y, 0, 0), 0xff, 4);
    b.copy(b.range(x, 0, 0), b.range(y, 0, 0));
    b.dispatch(b.kernel(image.info), 0, {b.range(x, 0, 0), b.range(y, 0, 0)}, {1});
    const std::vector<ExecutableImage> images = {image};
    CHECK(run_once(device, b, device.load(images).value(), {{}, {}}).ok());
  });
}

TEST_CASE("device: a dispatch of 0 groups runs nothing") {
  on_every_host_kernel_device([](TestedDevice& device) {
    int calls = 0;
    const std::vector<ExecutableImage> images = {host_kernel_image(
        device.target(), {.name = "count"}, [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
          ++calls;
          return {};
        })};
    ListBuilder b;
    b.dispatch(b.kernel(images[0].info), 0, {});
    b.dispatch(KernelIndex{0}, Dim("n"), {});
    CHECK(run_once(device, b, device.load(images).value(), {}, {{"n", 0}}).ok());
    CHECK(calls == 0);
  });
}

TEST_CASE("device: an empty range may stand at the end of its binding") {
  on_every_device([](TestedDevice& device) {
    std::vector<std::uint8_t> memory(8, 1);
    ListBuilder b;
    const BindingIndex y = b.output("y", 8);
    const SizeExpr n = Dim("n").at_most(8);
    b.fill(b.range(y, 8, 0), 2, 1);
    b.fill(b.range(y, 8 - n, n), 3, 1);
    CHECK(run_once(device, b, nullptr, {bind(memory)}, {{"n", 0}}).ok());
    CHECK(memory == std::vector<std::uint8_t>(8, 1));
  });
}

}  // namespace millrace
