// SPDX-License-Identifier: Apache-2.0
// upload() and download(): copies that block.
#include <limits>
#include <numeric>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/hal/transfer.h"
#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/replay.h"

namespace millrace {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> values) {
  Bytes made;
  for (const int value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

std::shared_ptr<Buffer> buffer_of(Device& device, const Bytes& content) {
  auto buffer = device.allocate(content.size()).value();
  REQUIRE(upload(device, *buffer, content).ok());
  return buffer;
}

Bytes content_of(Device& device, const Buffer& buffer) {
  Bytes content(buffer.size_bytes());
  REQUIRE(download(device, buffer, content).ok());
  return content;
}

}  // namespace

TEST_CASE("device: uploaded bytes are downloaded unchanged, in any number") {
  on_every_device([](TestedDevice& device) {
    for (const std::size_t size : {0u, 1u, 3u, 64u, 4097u, 1'000'003u}) {
      Bytes content(size);
      for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<std::byte>(i * 31 >> 3);
      CHECK(content_of(device.raw(), *buffer_of(device.raw(), content)) == content);
    }
  });
}

TEST_CASE("device: parts are uploaded to their places, in any order, and gaps stay as they are") {
  on_every_device([](TestedDevice& device) {
    const auto buffer = buffer_of(device.raw(), bytes({9, 9, 9, 9, 9, 9, 9, 9}));
    const Bytes last = bytes({7, 8}), first = bytes({1}), middle = bytes({3, 4});
    const UploadPart parts[] = {{6, last}, {0, first}, {2, middle}};
    REQUIRE(upload(device.raw(), *buffer, parts).ok());
    CHECK(content_of(device.raw(), *buffer) == bytes({1, 9, 3, 4, 9, 9, 7, 8}));
  });
}

TEST_CASE("device: no parts, and parts of nothing, upload nothing") {
  on_every_device([](TestedDevice& device) {
    const auto buffer = buffer_of(device.raw(), bytes({5, 6}));
    CHECK(upload(device.raw(), *buffer, std::span<const UploadPart>()).ok());
    const UploadPart at_the_end[] = {{2, {}}, {0, {}}};
    CHECK(upload(device.raw(), *buffer, at_the_end).ok());
    CHECK(content_of(device.raw(), *buffer) == bytes({5, 6}));
  });
}

TEST_CASE("device: a short source leaves the rest of the buffer") {
  on_every_device([](TestedDevice& device) {
    const auto buffer = buffer_of(device.raw(), bytes({1, 2, 3, 4}));
    REQUIRE(upload(device.raw(), *buffer, bytes({8, 9})).ok());
    CHECK(content_of(device.raw(), *buffer) == bytes({8, 9, 3, 4}));
  });
}

TEST_CASE("device: a short destination gets the first bytes") {
  on_every_device([](TestedDevice& device) {
    const auto buffer = buffer_of(device.raw(), bytes({1, 2, 3, 4}));
    Bytes two(2);
    REQUIRE(download(device.raw(), *buffer, two).ok());
    CHECK(two == bytes({1, 2}));
    CHECK(download(device.raw(), *buffer, {}).ok());
  });
}

TEST_CASE("device: a part that leaves the buffer is refused, and no other part is copied") {
  on_every_device([](TestedDevice& device) {
    const auto buffer = buffer_of(device.raw(), bytes({1, 2, 3, 4}));
    const Bytes good = bytes({9}), bad = bytes({7, 7});
    for (const std::size_t offset : {std::size_t{3}, std::size_t{5}, std::numeric_limits<std::size_t>::max()}) {
      const UploadPart parts[] = {{0, good}, {offset, bad}};
      const Status status = upload(device.raw(), *buffer, parts);
      CHECK(status.code() == StatusCode::kInvalidArgument);
      CHECK(status.message() == "upload: 2 bytes at offset " + std::to_string(offset) +
                                    " of a buffer of 4 bytes, expected a range inside it");
      CHECK(content_of(device.raw(), *buffer) == bytes({1, 2, 3, 4}));
    }
  });
}

TEST_CASE("device: more than the buffer has is not downloaded") {
  on_every_device([](TestedDevice& device) {
    const auto buffer = buffer_of(device.raw(), bytes({1, 2}));
    Bytes found = bytes({7, 7, 7});
    const Status status = download(device.raw(), *buffer, found);
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message() == "download: 3 bytes at offset 0 of a buffer of 2 bytes, expected a range inside it");
    CHECK(found == bytes({7, 7, 7}));
  });
}

TEST_CASE("device: another device's buffer is neither uploaded to nor downloaded from") {
  on_every_device([](TestedDevice& device) {
    const auto foreign = create_cpu_device(TargetSpec::parse("cpu").value()).value()->allocate(2).value();
    Bytes content = bytes({1, 2});
    CHECK(upload(device.raw(), *foreign, content).message() ==
          "upload: the buffer is another device's; ask that device instead of '" + device.name() + "'");
    CHECK(download(device.raw(), *foreign, content).message() ==
          "download: the buffer is another device's; ask that device instead of '" + device.name() + "'");
    CHECK(upload(device.raw(), *foreign, content).code() == StatusCode::kInvalidArgument);
    CHECK(content == bytes({1, 2}));
  });
}

TEST_CASE("device: threads transfer concurrently, each with a buffer of its own") {
  on_every_device([](TestedDevice& device) {
    std::vector<std::thread> threads;
    std::vector<int> num_equal(3);
    for (std::size_t t = 0; t < num_equal.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::uint32_t i = 0; i < 20; ++i) {
          const std::vector<std::uint32_t> values(50 + t, i);
          num_equal[t] += Words(device.raw(), values).read() == values ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(num_equal == std::vector<int>{20, 20, 20});
  });
}

}  // namespace millrace
