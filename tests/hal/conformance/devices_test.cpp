// SPDX-License-Identifier: Apache-2.0
// What a device reports about itself, and to which device its objects belong.
#include "tests/hal/conformance/devices.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "millrace/isa/driver.h"
#include "tests/hal/conformance/replay.h"

namespace millrace {

TEST_CASE("device: it has a name, a description and at least one target, each target once") {
  on_every_device([](TestedDevice& device) {
    const DeviceInfo& info = device.raw().info();
    CHECK(!info.name.empty());
    CHECK(!info.description.empty());
    std::set<std::string> targets;
    for (const TargetSpec& target : info.targets) targets.insert(target.to_text());
    CHECK(!targets.empty());
    CHECK(targets.size() == info.targets.size());
  });
}

TEST_CASE("device: levels of an instruction set are listed from the highest down to the lowest") {
  on_every_host_code_device([](TestedDevice& device) {
    const std::span<const TargetSpec> targets = device.raw().targets();
    for (std::size_t i = 1; i < targets.size(); ++i)
      CHECK((targets[i - 1].covers(targets[i]) && targets[i] != targets[i - 1]));
    CHECK(targets.back().isa == IsaLevel::kBaseline);
  });
}

TEST_CASE("device: its name opens a device of that name") {
  const Driver drivers[] = {cpu_driver(), sim_driver(), isa_driver()};
  on_every_device([&](TestedDevice& device) {
    const DeviceSpec spec = DeviceSpec::parse(device.name()).value();
    const auto* driver = std::ranges::find(drivers, spec.driver, &Driver::name);
    if (driver == std::end(drivers)) return;  // a wrapper, which has no driver
    const auto opened = driver->open(spec).value();
    CHECK(opened->name() == device.name());
    CHECK(opened->id() != device.raw().id());
  });
}

TEST_CASE("device: devices of one kind have ids of their own") {
  std::set<DeviceId> ids{DeviceId{}};
  for (const DeviceCase& row : conformance_devices()) {
    CHECK(ids.insert(row.create().value()->id()).second);
    CHECK(ids.insert(row.create().value()->id()).second);
  }
}

TEST_CASE("device: a buffer carries its device's id") {
  on_every_device([](TestedDevice& device) {
    for (const std::size_t size : {0u, 1u, 100u}) {
      CHECK(device.allocate(size).value()->device() == device.raw().id());
    }
  });
}

TEST_CASE("device: a wrapper has the id of the device that it wraps, and each accepts the other's buffers") {
  on_every_device([](TestedDevice& device) {
    const auto inner = std::shared_ptr<Device>(&device.raw(), [](Device*) {});
    const auto wrapper = create_trace_device(inner, [](std::string_view) {});
    CHECK(wrapper->id() == device.raw().id());
    CHECK(wrapper->name() == "trace(" + device.name() + ")");
    CHECK(wrapper->info().addresses_host_memory == device.raw().info().addresses_host_memory);
    CHECK(wrapper->info().is_synchronous == device.raw().info().is_synchronous);
    const Words words(device.raw(), {1}), wrapped_words(*wrapper, {2});
    const auto done = timeline(*wrapper);
    const Replay three = set_word(*wrapper, 3), four = set_word(device.raw(), 4);
    REQUIRE(three.submit({words.binding()}, {}, {{done, 1}}).ok());
    REQUIRE(four.submit({wrapped_words.binding()}, {{done, 1}}, {{done, 2}}).ok());
    REQUIRE(done->wait(2).ok());
    CHECK(words.read() == std::vector<std::uint32_t>{3});
    CHECK(wrapped_words.read() == std::vector<std::uint32_t>{4});
  });
}

TEST_CASE("device: a wrapper's recording is refused by the device that it wraps, and vice versa") {
  on_every_device([](TestedDevice& device) {
    const auto inner = std::shared_ptr<Device>(&device.raw(), [](Device*) {});
    const auto wrapper = create_trace_device(inner, [](std::string_view) {});
    const auto wrapped = wrapper->record(CommandList(), nullptr).value();
    const auto own = inner->record(CommandList(), nullptr).value();
    CHECK(inner->submit(*wrapped, {}).message() ==
          "submit: the recording was made by another device; record the list on device '" + inner->name() + "'");
    CHECK(wrapper->submit(*own, {}).message() ==
          "submit: the recording was made by another device; record the list on device '" + wrapper->name() + "'");
  });
}

TEST_CASE("device: the recording of another device of the same kind is refused") {
  for (const DeviceCase& row : conformance_devices()) {
    const std::string name = row.name;
    CAPTURE(name);
    const auto one = row.create().value(), other = row.create().value();
    const auto recording = one->record(CommandList(), nullptr).value();
    CHECK(other->submit(*recording, {}).message() ==
          "submit: the recording was made by another device; record the list on device '" + other->name() + "'");
  }
}

TEST_CASE("device: the executable of another device of the same kind is refused") {
  for (const DeviceCase& row : conformance_devices()) {
    const std::string name = row.name;
    CAPTURE(name);
    const auto one = row.create().value(), other = row.create().value();
    const Status status = other->record(CommandList(), one->load({}).value()).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message().starts_with("record: the executable was loaded by another device; load it on device '"));
  }
}

}  // namespace millrace
