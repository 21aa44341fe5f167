// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"

namespace millrace {

TEST_CASE("device: a recording is replayed with new bindings, and keeps nothing of the old ones") {
  on_every_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {scale_on(device.target())};
    ListBuilder b;
    const BindingIndex x = b.input("x", 12);
    const BindingIndex y = b.output("y", 12);
    b.dispatch(b.kernel(images[0].info), 3, {b.range(x, 0, 12), b.range(y, 0, 12)}, {2});
    const auto recording = device.record(b.list, device.load(images).value()).value();
    const std::vector<std::int64_t> sizes = b.evaluate();
    for (std::uint32_t round = 1; round <= 5; ++round) {
      std::vector<std::uint32_t> in = {round, 10 * round, 100 * round};
      std::vector<std::uint32_t> out(3);
      const std::vector<BufferBinding> bindings = {bind(in), bind(out)};
      REQUIRE(device.submit(*recording, {.bindings = bindings, .sizes = sizes}).ok());
      CHECK(out == std::vector<std::uint32_t>{2 * round, 20 * round, 200 * round});
      CHECK(in == std::vector<std::uint32_t>{round, 10 * round, 100 * round});
    }
  });
}

TEST_CASE("device: a recording is replayed with new sizes: groups, ranges and arguments follow") {
  on_every_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {scale_on(device.target())};
    const SizeExpr n = Dim("n").at_most(100);
    ListBuilder b;
    const BindingIndex x = b.input("x", n * 4);
    const BindingIndex y = b.output("y", n * 8);
    b.dispatch(b.kernel(images[0].info), n, {b.range(x, 0, n * 4), b.range(y, 0, n * 4)}, {n + 1});
    b.fill(b.range(y, n * 4, n * 4), 0xabcd, 4);
    const auto recording = device.record(b.list, device.load(images).value()).value();
    for (std::uint32_t count : {3u, 0u, 100u, 1u}) {
      CAPTURE(count);
      std::vector<std::uint32_t> in(count, 5);
      std::vector<std::uint32_t> out(2 * count);
      const std::vector<BufferBinding> bindings = {bind(in), bind(out)};
      REQUIRE(device.submit(*recording, {.bindings = bindings, .sizes = b.evaluate({{"n", count}})}).ok());
      for (std::uint32_t i = 0; i < count; ++i) CHECK(out[i] == 5 * (count + 1));
      for (std::uint32_t i = count; i < 2 * count; ++i) CHECK(out[i] == 0xabcd);
    }
  });
}

TEST_CASE("device: a submission that was refused does not harm the next") {
  on_every_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {store_ids_on(device.target())};
    ListBuilder b;
    const BindingIndex y = b.output("y", 12);
    b.dispatch(b.kernel(images[0].info), 3, {b.range(y, 0, 12)});
    const auto recording = device.record(b.list, device.load(images).value()).value();
    const std::vector<std::int64_t> sizes = b.evaluate();
    std::vector<std::uint32_t> out(3, 7);
    const std::vector<BufferBinding> too_short = {{out.data(), 8}};
    CHECK(!device.submit(*recording, {.bindings = too_short, .sizes = sizes}).ok());
    CHECK(out == std::vector<std::uint32_t>{7, 7, 7});
    const std::vector<BufferBinding> good = {bind(out)};
    CHECK(device.submit(*recording, {.bindings = good, .sizes = sizes}).ok());
    CHECK(out == std::vector<std::uint32_t>{0, 1, 2});
  });
}

TEST_CASE("device: two recordings of one list and executable are independent") {
  on_every_device([](TestedDevice& device) {
    const std::vector<ExecutableImage> images = {store_ids_on(device.target())};
    ListBuilder b;
    const BindingIndex y = b.output("y", 8);
    b.dispatch(b.kernel(images[0].info), 2, {b.range(y, 0, 8)});
    const auto executable = device.load(images).value();
    const auto first = device.record(b.list, executable).value();
    auto second = device.record(b.list, executable).value();
    second.reset();
    std::vector<std::uint32_t> out(2, 9);
    const std::vector<BufferBinding> bindings = {bind(out)};
    CHECK(device.submit(*first, {.bindings = bindings, .sizes = b.evaluate()}).ok());
    CHECK(out == std::vector<std::uint32_t>{0, 1});
  });
}

}  // namespace millrace
