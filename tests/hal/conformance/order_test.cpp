// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"

namespace millrace {

TEST_CASE("device: writes before a barrier are visible after it, for every pair of commands") {
  on_every_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {scale_on(device.target())};
    ListBuilder b;
    const KernelIndex scale = b.kernel(images[0].info);
    const BindingIndex t = b.binding("t", BindingKind::kTransient, 64);
    const BindingIndex y = b.output("y", 64);
    const auto in_t = [&](std::int64_t offset) { return b.range(t, offset, 16); };
    b.fill(in_t(0), 3, 4);
    b.barrier();
    b.copy(in_t(0), in_t(16));  // after a fill
    b.barrier();
    b.dispatch(scale, 4, {in_t(16), in_t(32)}, {5});  // after a copy
    b.barrier();
    b.dispatch(scale, 4, {in_t(32), in_t(48)}, {7});  // after a dispatch
    b.barrier();
    b.copy(b.range(t, 0, 64), b.range(y, 0, 64));  // after a dispatch
    b.fill(b.range(y, 0, 0), 0, 1);
    b.barrier();
    b.fill(b.range(y, 0, 8), 9, 8);  // a write after a write
    std::vector<std::uint32_t> transient(16);
    std::vector<std::uint32_t> out(16);
    REQUIRE(run_once(device, b, device.load(images).value(), {bind(transient), bind(out)}).ok());
    CHECK(out == std::vector<std::uint32_t>{9, 0, 3, 3, 3, 3, 3, 3, 15, 15, 15, 15, 105, 105, 105, 105});
  });
}

TEST_CASE("device: barriers with nothing between them are valid") {
  on_every_device([](TestedDevice& device) {
    ListBuilder b;
    b.barrier();
    b.barrier();
    CHECK(run_once(device, b, nullptr, {}).ok());
  });
}

TEST_CASE("device: a long chain of dependent commands keeps its order") {
  on_every_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {scale_on(device.target())};
    ListBuilder b;
    const KernelIndex scale = b.kernel(images[0].info);
    const BindingIndex y = b.output("y", 8);
    b.fill(b.range(y, 0, 4), 1, 4);
    for (int i = 0; i < 100; ++i) {
      b.barrier();
      b.dispatch(scale, 1, {b.range(y, 0, 4), b.range(y, 4, 4)}, {3});
      b.barrier();
      b.copy(b.range(y, 4, 4), b.range(y, 0, 4));
    }
    std::uint32_t expected = 1;
    for (int i = 0; i < 100; ++i) expected *= 3;
    std::vector<std::uint32_t> out(2);
    REQUIRE(run_once(device, b, device.load(images).value(), {bind(out)}).ok());
    CHECK(out[0] == expected);
  });
}

}  // namespace millrace
