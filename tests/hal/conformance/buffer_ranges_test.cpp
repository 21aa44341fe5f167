// SPDX-License-Identifier: Apache-2.0
// Buffers as bindings: offsets, shared memory, and buffers that are refused.
#include <algorithm>
#include <limits>

#include <doctest/doctest.h>

#include "millrace/hal/transfer.h"
#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"

namespace millrace {
namespace {

using W = std::vector<std::uint32_t>;

BufferBinding part(const Words& words, std::size_t offset_bytes, std::size_t size_bytes) {
  return {.size_bytes = size_bytes, .buffer = words.buffer.get(), .offset_bytes = offset_bytes};
}

/// y = x, of `bytes`.
Replay copy_of(Device& device, std::int64_t bytes) {
  ListBuilder b;
  const BindingIndex x = b.input("x", bytes), y = b.output("y", bytes);
  b.copy(b.range(x, 0, bytes), b.range(y, 0, bytes));
  return {device, b};
}

}  // namespace

TEST_CASE("device: host-visible memory is aligned, whatever its size") {
  on_every_host_memory_device([](TestedDevice& device) {
    std::vector<std::shared_ptr<Buffer>> buffers;
    for (const std::size_t size : {0u, 1u, 3u, 63u, 65u, 4097u}) {
      buffers.push_back(device.allocate(size).value());
      CHECK(reinterpret_cast<std::uintptr_t>(buffers.back()->host_address()) % Buffer::kAlignment == 0);
    }
  });
}

TEST_CASE("device: the host and commands see each other's writes to host-visible memory") {
  on_every_host_memory_device([](TestedDevice& device) {
    const auto x = device.allocate(4).value(), y = device.allocate(4).value();
    std::ranges::fill(x->bytes(), std::byte{7});
    REQUIRE(wait_for(copy_of(device.raw(), 4), {x->binding(), y->binding()}).ok());
    CHECK(std::ranges::equal(y->bytes(), x->bytes()));
  });
}

TEST_CASE("device: many small buffers do not share memory") {
  on_every_device([](TestedDevice& device) {
    std::vector<Words> many;
    for (std::uint32_t i = 0; i < 300; ++i) many.push_back(Words(device.raw(), W(1 + i % 5, i)));
    bool all_kept = true;
    for (std::uint32_t i = 0; i < 300; ++i) all_kept &= many[i].read() == W(1 + i % 5, i);
    CHECK(all_kept);
  });
}

TEST_CASE("device: a large buffer is used to its last byte") {
  on_every_device([](TestedDevice& device) {
    constexpr std::size_t kBytes = (std::size_t{24} << 20) + 3;
    const auto buffer = device.allocate(kBytes).value();
    ListBuilder b;
    const BindingIndex y = b.output("y", kBytes);
    b.fill(b.range(y, 0, kBytes), 0x5c, 1);
    REQUIRE(run_once(device, b, nullptr, {buffer->binding()}).ok());
    for (const std::size_t offset : {std::size_t{0}, kBytes / 2, kBytes - 1}) {
      std::byte found{};
      REQUIRE(device.raw().read_back(*buffer, offset, std::span(&found, 1)).ok());
      CHECK(found == std::byte{0x5c});
    }
  });
}

TEST_CASE("device: memory is allocated and freed while other memory is in use") {
  on_every_device([](TestedDevice& device) {
    const Words kept(device.raw(), {1, 2, 3});
    for (std::uint32_t i = 0; i < 200; ++i) {
      const Words passing(device.raw(), W(100 + i, i));
      REQUIRE(passing.read() == W(100 + i, i));
    }
    CHECK(kept.read() == W{1, 2, 3});
  });
}

TEST_CASE("device: a binding may begin anywhere in its buffer, and ranges count from there") {
  on_every_device([](TestedDevice& device) {
    const auto buffer = device.allocate(16).value();
    const std::vector<std::byte> zeros(16);
    REQUIRE(upload(device.raw(), *buffer, zeros).ok());
    ListBuilder b;
    const BindingIndex y = b.output("y", 7);
    b.fill(b.range(y, 2, 3), 0xff, 1);
    const BufferBinding binding{.size_bytes = 7, .buffer = buffer.get(), .offset_bytes = 5};
    REQUIRE(wait_for(Replay(device.raw(), b), {binding}).ok());
    std::vector<std::byte> found(16);
    REQUIRE(download(device.raw(), *buffer, found).ok());
    for (std::size_t i = 0; i < 16; ++i) CHECK(found[i] == (i >= 7 && i < 10 ? std::byte{0xff} : std::byte{}));
  });
}

TEST_CASE("device: kernels get buffers at the offset of their binding") {
  on_every_device([](TestedDevice& device) {
    const Words x(device.raw(), {1, 2, 3, 4}), y(device.raw(), {0, 0, 0, 0});
    const ExecutableImage image = scale_on(device.target());
    ListBuilder b;
    const BindingIndex in = b.input("x", 12), out = b.output("y", 12);
    b.dispatch(b.kernel(image.info), 2, {b.range(in, 4, 8), b.range(out, 0, 8)}, {10});
    REQUIRE(wait_for(Replay(device.raw(), b, {image}), {part(x, 4, 12), part(y, 4, 12)}).ok());
    CHECK(y.read() == W{0, 30, 40, 0});
  });
}

TEST_CASE("device: one buffer is bound twice, where the parts lie apart") {
  on_every_device([](TestedDevice& device) {
    const Words words(device.raw(), {1, 2, 3, 4});
    REQUIRE(wait_for(copy_of(device.raw(), 8), {part(words, 0, 8), part(words, 8, 8)}).ok());
    CHECK(words.read() == W{1, 2, 1, 2});
  });
}

TEST_CASE("device: two bindings may read the same bytes") {
  on_every_device([](TestedDevice& device) {
    const Words x(device.raw(), {5, 6}), y(device.raw(), {0, 0, 0, 0});
    const ExecutableImage image = scale_on(device.target());
    ListBuilder b;
    const BindingIndex first = b.input("first", 8), second = b.input("second", 8), out = b.output("y", 16);
    const KernelIndex scale = b.kernel(image.info);
    b.dispatch(scale, 2, {b.range(first, 0, 8), b.range(out, 0, 8)}, {2});
    b.dispatch(scale, 2, {b.range(second, 0, 8), b.range(out, 8, 8)}, {3});
    REQUIRE(wait_for(Replay(device.raw(), b, {image}), {x.binding(), x.binding(), y.binding()}).ok());
    CHECK(y.read() == W{10, 12, 15, 18});
  });
}

TEST_CASE("device: a binding that ends where its buffer ends is inside of it") {
  on_every_device([](TestedDevice& device) {
    const Words x(device.raw(), {1, 2}), y(device.raw(), {0, 0});
    REQUIRE(wait_for(copy_of(device.raw(), 4), {part(x, 4, 4), part(y, 4, 4)}).ok());
    CHECK(y.read() == W{0, 2});
  });
}

TEST_CASE("device: a binding that leaves its buffer is refused") {
  on_every_device([](TestedDevice& device) {
    const Words x(device.raw(), {1, 2}), y(device.raw(), {3, 4});
    const Replay copy = copy_of(device.raw(), 4);
    constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
    for (const auto& [offset, size] :
         {std::pair<std::size_t, std::size_t>{5, 4}, {8, 4}, {9, 4}, {0, 9}, {kMax, 4}, {kMax - 3, 4}, {1, kMax}}) {
      const Status status = copy.submit({part(x, offset, size), y.binding()});
      CHECK(status.code() == StatusCode::kInvalidArgument);
      CHECK(status.message() == "submit: input 'x' is " + std::to_string(size) + " bytes at offset " +
                                    std::to_string(offset) + " of a buffer of 8 bytes, expected a range inside it");
    }
    CHECK(y.read() == W{3, 4});
  });
}

TEST_CASE("device: a part of a buffer that is shorter than the list needs is refused") {
  on_every_device([](TestedDevice& device) {
    const Words x(device.raw(), {1, 2}), y(device.raw(), {3, 4});
    CHECK(copy_of(device.raw(), 8).submit({x.binding(), part(y, 4, 4)}).message() ==
          "submit: output 'y' has 4 bytes, expected at least 8; bind more memory to it");
    CHECK(y.read() == W{3, 4});
  });
}

TEST_CASE("device: a buffer of another device is refused, and the binding and the device are named") {
  on_every_device([](TestedDevice& device) {
    const auto foreign = create_cpu_device(TargetSpec::parse("cpu").value()).value()->allocate(8).value();
    const Words own(device.raw(), {1, 2});
    const Replay copy = copy_of(device.raw(), 8);
    // A wrapper's submissions are checked by the device that it wraps.
    const auto end = [](const Status& status) { return status.message().ends_with("' allocated"); };
    const Status input = copy.submit({foreign->binding(), own.binding()});
    CHECK(input.code() == StatusCode::kInvalidArgument);
    CHECK(input.message().starts_with("submit: input 'x' is a buffer of another device; bind one that device '"));
    CHECK(end(input));
    const Status output = copy.submit({own.binding(), foreign->binding()});
    CHECK(output.message().starts_with("submit: output 'y' is a buffer of another device; bind one that device '"));
    CHECK(end(output));
  });
}

TEST_CASE("device: a buffer of another device is refused even if nothing of it is needed; a buffer of its own is not") {
  on_every_device([](TestedDevice& device) {
    const auto foreign = create_cpu_device(TargetSpec::parse("cpu").value()).value()->allocate(0).value();
    const auto own = device.allocate(0).value();
    const Words words(device.raw(), {1});
    const Replay copy = copy_of(device.raw(), 0);
    CHECK(wait_for(copy, {own->binding(), part(words, 4, 0)}).ok());
    CHECK(wait_for(copy, {foreign->binding(), words.binding()})
              .message()
              .starts_with("submit: input 'x' is a buffer of another device; bind one that device '"));
  });
}

TEST_CASE("device: host memory that it does not address is refused, and the message says what to do") {
  on_every_device([](TestedDevice& device) {
    W memory{1, 2};
    const Words own(device.raw(), {3, 4});
    const Status status = wait_for(copy_of(device.raw(), 8), {bind(memory), own.binding()});
    if (device.raw().info().addresses_host_memory) {
      CHECK(status.ok());
      CHECK(own.read() == memory);
      return;
    }
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message().starts_with("submit: input 'x' is host memory, which device '"));
    CHECK(status.message().ends_with("' does not address; bind a buffer that it allocated, and upload to it"));
    CHECK(own.read() == W{3, 4});
  });
}

TEST_CASE("device: a device that cannot import host memory reports that, and leaves it unchanged") {
  on_every_device([](TestedDevice& device) {
    if (device.raw().info().addresses_host_memory) return;
    int deleted = 0;
    W memory{1};
    const auto imported = device.raw().import_host(memory.data(), 4, [&](void*) { ++deleted; });
    REQUIRE(!imported.ok());
    CHECK(imported.status().code() == StatusCode::kUnimplemented);
    CHECK(imported.status().message().starts_with("import: device '"));
    CHECK(imported.status().message().ends_with("' does not address host memory; upload to a buffer of the device"));
    CHECK(deleted == 0);
  });
}

TEST_CASE("device: imported memory is a buffer of the device, at its own address") {
  on_every_host_memory_device([](TestedDevice& device) {
    std::vector<std::byte> memory(9);
    void* deleted = nullptr;
    {
      const auto odd = device.raw().import_host(memory.data() + 1, 8, [&](void* data) { deleted = data; }).value();
      CHECK(odd->device() == device.raw().id());
      CHECK(odd->host_address() == memory.data() + 1);
      CHECK(odd->size_bytes() == 8);
      REQUIRE(wait_for(set_word(device.raw(), 0x01020304), {odd->binding()}).ok());
    }
    CHECK(deleted == memory.data() + 1);
    CHECK(memory[0] == std::byte{});
    CHECK(memory[1] == std::byte{4});
    CHECK(memory[5] == std::byte{});
  });
}

TEST_CASE("device: imported memory may be read back, uploaded to and downloaded from") {
  on_every_host_memory_device([](TestedDevice& device) {
    W memory{1, 2, 3};
    const auto imported = device.raw().import_host(memory.data(), 12).value();
    const W source{7, 8, 9};
    REQUIRE(upload(device.raw(), *imported, std::as_bytes(std::span(source))).ok());
    CHECK(memory == source);
    W found(2);
    REQUIRE(device.raw().read_back(*imported, 4, std::as_writable_bytes(std::span(found))).ok());
    CHECK(found == W{8, 9});
    REQUIRE(download(device.raw(), *imported, std::as_writable_bytes(std::span(found))).ok());
    CHECK(found == W{7, 8});
  });
}

TEST_CASE("device: any part of a buffer is read back") {
  on_every_device([](TestedDevice& device) {
    const Words words(device.raw(), {1, 2, 3, 4});
    W found(2);
    REQUIRE(device.raw().read_back(*words.buffer, 8, std::as_writable_bytes(std::span(found))).ok());
    CHECK(found == W{3, 4});
    CHECK(device.raw().read_back(*words.buffer, 16, {}).ok());
  });
}

TEST_CASE("device: reading back outside of a buffer is refused") {
  on_every_device([](TestedDevice& device) {
    const Words words(device.raw(), {1, 2});
    std::vector<std::byte> found(8, std::byte{9});
    for (const std::size_t offset : {std::size_t{1}, std::size_t{9}, std::numeric_limits<std::size_t>::max()}) {
      const Status status = device.raw().read_back(*words.buffer, offset, found);
      CHECK(status.code() == StatusCode::kInvalidArgument);
      CHECK(status.message() == "read back: 8 bytes at offset " + std::to_string(offset) +
                                    " of a buffer of 8 bytes, expected a range inside it");
    }
    CHECK(std::ranges::all_of(found, [](std::byte byte) { return byte == std::byte{9}; }));
  });
}

TEST_CASE("device: a buffer of another device is not read back") {
  on_every_device([](TestedDevice& device) {
    const auto foreign = create_cpu_device(TargetSpec::parse("cpu").value()).value()->allocate(8).value();
    std::vector<std::byte> found(8);
    const Status status = device.raw().read_back(*foreign, 0, found);
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message().starts_with("read back: the buffer is another device's; ask that device instead of '"));
  });
}

TEST_CASE("device: a buffer may outlive the handles to its device") {
  for (const DeviceCase& row : conformance_devices()) {
    const std::string name = row.name;
    CAPTURE(name);
    auto device = row.create().value();
    const auto buffer = device->allocate(64).value();
    const bool is_visible = device->info().addresses_host_memory;
    device.reset();
    CHECK(buffer->size_bytes() == 64);
    if (is_visible) std::ranges::fill(buffer->bytes(), std::byte{1});
  }
}

}  // namespace millrace
