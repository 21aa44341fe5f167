// SPDX-License-Identifier: Apache-2.0
// The order in which a device, its objects and its work may end.
#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

/// Calls `test` with the only handle to a fresh device of each row.
void with_every_device(const std::function<void(std::shared_ptr<Device>)>& test) {
  for (const DeviceCase& row : conformance_devices()) {
    const std::string name = row.name;
    CAPTURE(name);
    test(row.create().value());
  }
}

}  // namespace

TEST_CASE("device: work that can run ends when the last handle to its device is dropped") {
  with_every_device([](std::shared_ptr<Device> device) {
    const Words words(*device, {0});
    const auto turn = timeline(*device);
    const Replay seven = append_digit(*device, 7);
    for (std::uint64_t i = 0; i < 20; ++i) REQUIRE(seven.submit({words.binding()}, {{turn, i}}, {{turn, i + 1}}).ok());
    device.reset();
    CHECK(turn->wait(20).ok());
  });
}

TEST_CASE(
    "device: work that waits when the last handle is dropped is cancelled, and so is all work that depends on it") {
  with_every_device([](std::shared_ptr<Device> device) {
    const Words words(*device, {0});
    const auto gate = Semaphore::create(), link = timeline(*device), done = timeline(*device);
    REQUIRE(set_word(*device, 1).submit({words.binding()}, {{gate, 1}}, {{link, 1}}).ok());
    REQUIRE(set_word(*device, 2).submit({words.binding()}, {{link, 1}}, {{done, 1}}).ok());
    device.reset();
    for (const auto& each : {link, done}) {
      const Status status = each->wait(1);
      CHECK(status.code() == StatusCode::kCancelled);
      CHECK(status.message() == "submit: the device was closed");
    }
    CHECK(gate->signal(1).ok());
  });
}

TEST_CASE("device: work whose waits are never met leaks nothing") {
  with_every_device([](std::shared_ptr<Device> device) {
    if (!runs_host_kernels(device->targets().front())) return;
    const auto token = std::make_shared<int>(0);
    const auto kept = timeline(*device);
    {
      const ExecutableImage image =
          host_kernel_image(device->targets().front(), {.name = "never"},
                            [token](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status { return {}; });
      ListBuilder b;
      b.dispatch(b.kernel(image.info), 1, {});
      const Replay never(*device, b, {image});
      const auto turn = timeline(*device);
      REQUIRE(never.submit({}, {{turn, 1}}, {{turn, 2}}).ok());  // holds what it waits for
      REQUIRE(never.submit({}, {{turn, 1}, {kept, 1}}).ok());
    }
    CHECK(token.use_count() > 1);
    device.reset();
    CHECK(token.use_count() == 1);
  });
}

TEST_CASE("device: its objects may be dropped after it, in any order") {
  with_every_device([](std::shared_ptr<Device> device) {
    const std::vector<ExecutableImage> images = {store_ids_on(device->targets().front())};
    auto executable = device->load(images).value();
    ListBuilder b;
    const BindingIndex y = b.output("y", 8);
    b.dispatch(b.kernel(images[0].info), 2, {b.range(y, 0, 8)});
    auto recording = device->record(b.list, executable).value();
    auto buffer = device->allocate(8).value();
    auto semaphore = timeline(*device);
    const DeviceId id = device->id();
    device.reset();
    CHECK(buffer->device() == id);
    CHECK(executable->num_kernels() == 1);
    executable.reset();
    semaphore.reset();
    buffer.reset();
    recording.reset();
  });
}

TEST_CASE("device: it is opened and closed many times, with and without work") {
  with_every_device([](std::shared_ptr<Device> device) {
    for (const DeviceCase& row : conformance_devices()) {
      if (row.create().value()->name() != device->name()) continue;
      for (int i = 0; i < 5; ++i) {
        const auto fresh = row.create().value();
        CHECK(wait_for(nothing(*fresh), {}).ok());
      }
    }
  });
}

TEST_CASE("device: a wrapper keeps the device that it wraps alive") {
  with_every_device([](std::shared_ptr<Device> device) {
    int lines = 0;
    const auto wrapper = create_trace_device(std::move(device), [&](std::string_view) { ++lines; });
    const Words words(*wrapper, {0});
    REQUIRE(wait_for(set_word(*wrapper, 3), {words.binding()}).ok());
    CHECK(words.read() == std::vector<std::uint32_t>{3});
    CHECK(lines >= 2);
  });
}

TEST_CASE("device: the recording may be dropped while its work waits, and the buffers right after its end") {
  with_every_device([](std::shared_ptr<Device> device) {
    const auto gate = timeline(*device);
    std::vector<std::shared_ptr<Buffer>> buffers;
    std::vector<Timepoint> ends;
    for (std::uint32_t i = 0; i < 10; ++i) {
      buffers.push_back(device->allocate(4).value());
      ends.push_back({timeline(*device), 1});
      REQUIRE(set_word(*device, i).submit({buffers.back()->binding()}, {{gate, 1}}, {ends.back()}).ok());
    }
    REQUIRE(gate->signal(1).ok());
    for (std::size_t i = ends.size(); i-- > 0;) {
      CHECK(ends[i].wait().ok());
      buffers[i].reset();
    }
  });
}

}  // namespace millrace
