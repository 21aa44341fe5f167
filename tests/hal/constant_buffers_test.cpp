// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/constant_buffers.h"

#include <doctest/doctest.h>

#include "millrace/hal/device.h"

namespace millrace {
namespace {

std::shared_ptr<Buffer> some_buffer() {
  return create_cpu_device(TargetSpec{.family = "cpu"}).value()->allocate(8).value();
}

}  // namespace

TEST_CASE("a buffer of constants is found by hash and size while somebody has it, and no longer") {
  ConstantBuffers buffers;
  const ContentId id{.high = 1, .low = 2, .size_bytes = 8};
  CHECK(buffers.find(id) == nullptr);
  std::shared_ptr<Buffer> buffer = some_buffer();
  CHECK(buffers.add(id, buffer) == buffer);
  CHECK(buffers.find(id) == buffer);
  for (const ContentId& other : {ContentId{3, 2, 8}, ContentId{1, 3, 8}, ContentId{1, 2, 9}}) {
    CHECK(buffers.find(other) == nullptr);
  }
  buffer.reset();
  CHECK(buffers.find(id) == nullptr);
}

TEST_CASE("the first of two buffers with the same constants is kept") {
  ConstantBuffers buffers;
  const ContentId id{.high = 1, .low = 2, .size_bytes = 8};
  std::shared_ptr<Buffer> first = some_buffer();
  const std::shared_ptr<Buffer> second = some_buffer();
  CHECK(buffers.add(id, first) == first);
  CHECK(buffers.add(id, second) == first);
  first.reset();
  CHECK(buffers.add(id, second) == second);
  CHECK(buffers.find(id) == second);
}

}  // namespace millrace
