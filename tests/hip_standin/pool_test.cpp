// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/application.h"

namespace millrace::hip_standin {
namespace {

using hip::Error;

struct Pools : Application {
  explicit Pools(const Options& options = {.devices = {{.memory_bytes = 64 << 10}}}) : Application(options) {
    hip::MemoryPoolProperties properties{};
    properties.allocation_type = hip::kMemoryAllocationPinned;
    properties.location_type = hip::kMemoryLocationDevice;
    REQUIRE(hip.hipMemPoolCreate(&pool, &properties) == Error::kSuccess);
  }
  ~Pools() {
    control.run_all();
    CHECK(hip.hipMemPoolDestroy(pool) == Error::kSuccess);
    CHECK(hip.hipStreamDestroy(stream) == Error::kSuccess);
    CHECK(hip.hipStreamDestroy(other) == Error::kSuccess);
    CHECK(hip.hipEventDestroy(event) == Error::kSuccess);
  }
  std::byte* take(std::size_t bytes) {
    void* pointer = nullptr;
    REQUIRE(hip.hipMallocFromPoolAsync(&pointer, bytes, pool, stream) == Error::kSuccess);
    return static_cast<std::byte*>(pointer);
  }
  std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    CHECK(hip.hipMemGetInfo(&free, &total) == Error::kSuccess);
    return free;
  }

  hip::Stream stream = make_stream(), other = make_stream();
  hip::Event event = make_event();
  hip::MemoryPool pool = nullptr;
};

TEST_CASE("a pool allocates and releases in the order of a stream") {
  Pools app;
  std::byte* const memory = app.take(4);
  CHECK(app.hip.hipMemsetD32Async(memory, 1, 1, app.stream) == Error::kSuccess);
  CHECK(app.hip.hipFreeAsync(memory, app.stream) == Error::kSuccess);
  CHECK(app.free_bytes() == 60 << 10);
  CHECK(app.hip.hipMemsetD32Async(memory, 2, 1, app.stream) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipMemsetD32Async: 4 bytes at " + address_text(memory) + ": their release is queued");
  app.control.run_all();
  CHECK(app.free_bytes() == 64 << 10);
  CHECK(app.hip.hipMemsetD32Async(memory, 2, 1, app.stream) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipMemsetD32Async: 4 bytes at " + address_text(memory) + ": they were released");
}

TEST_CASE("a pool keeps memory up to its threshold, until it is trimmed") {
  Pools app;
  std::uint64_t threshold = 20 << 10;
  CHECK(app.hip.hipMemPoolSetAttribute(app.pool, hip::PoolAttribute::kReleaseThreshold, &threshold) == Error::kSuccess);
  CHECK(app.hip.hipFreeAsync(app.take(32 << 10), app.stream) == Error::kSuccess);
  app.control.run_all();
  CHECK(app.free_bytes() == 44 << 10);
  CHECK(app.hip.hipFreeAsync(app.take(16 << 10), app.stream) == Error::kSuccess);  // from the kept memory
  CHECK(app.free_bytes() == 44 << 10);
  app.control.run_all();
  CHECK(app.hip.hipMemPoolTrimTo(app.pool, 4 << 10) == Error::kSuccess);
  CHECK(app.free_bytes() == 60 << 10);
}

TEST_CASE("an allocation waits for queued releases before it fails") {
  Pools app;
  CHECK(app.hip.hipFreeAsync(app.take(64 << 10), app.stream) == Error::kSuccess);
  std::byte* const memory = app.take(64 << 10);
  CHECK(app.control.num_hidden_waits() == 1);
  void* more = nullptr;
  CHECK(app.hip.hipMallocFromPoolAsync(&more, 1, app.pool, app.stream) == Error::kOutOfMemory);
  CHECK(app.hip.hipFreeAsync(memory, app.stream) == Error::kSuccess);
}

TEST_CASE("another stream that uses memory of a pool must come after its allocation and before its release") {
  for (const bool waits_before : {false, true}) {
    for (const bool waits_after : {false, true}) {
      CAPTURE(waits_before);
      CAPTURE(waits_after);
      bool finds = false;
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Pools app({.seed = seed});
        std::byte* const memory = app.take(4);
        if (waits_before) {
          CHECK(app.hip.hipEventRecord(app.event, app.stream) == Error::kSuccess);
          CHECK(app.hip.hipStreamWaitEvent(app.other, app.event, 0) == Error::kSuccess);
        }
        CHECK(app.hip.hipMemsetD32Async(memory, 1, 1, app.other) == Error::kSuccess);
        if (waits_after) {
          CHECK(app.hip.hipEventRecord(app.event, app.other) == Error::kSuccess);
          CHECK(app.hip.hipStreamWaitEvent(app.stream, app.event, 0) == Error::kSuccess);
        }
        CHECK(app.hip.hipFreeAsync(memory, app.stream) == Error::kSuccess);
        app.control.run_all();
        finds |= !app.control.take_findings().empty();
      }
      CHECK(finds == !(waits_before && waits_after));
    }
  }
}

TEST_CASE("destroying a pool whose memory is not released is a finding") {
  Application app({.devices = {{.has_memory_pools = false}, {}}});
  hip::MemoryPool pool = nullptr;
  hip::MemoryPoolProperties properties{};
  CHECK(app.hip.hipMemPoolCreate(&pool, &properties) == Error::kInvalidValue);
  properties.allocation_type = hip::kMemoryAllocationPinned;
  properties.location_type = hip::kMemoryLocationDevice;
  CHECK(app.hip.hipMemPoolCreate(&pool, &properties) == Error::kNotSupported);
  properties.location_id = 1;
  CHECK(app.hip.hipMemPoolCreate(&pool, &properties) == Error::kSuccess);
  CHECK(app.hip.hipSetDevice(1) == Error::kSuccess);
  const hip::Stream stream = app.make_stream();
  void* memory = nullptr;
  CHECK(app.hip.hipMallocFromPoolAsync(&memory, 4, pool, stream) == Error::kSuccess);
  CHECK(app.hip.hipFree(memory) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipFree: " + address_text(memory) + ": no live allocation of hipMalloc begins here");
  CHECK(app.hip.hipMemPoolDestroy(pool) == Error::kSuccess);
  CHECK(app.take_finding() == "hipMemPoolDestroy: 1 allocations of it were not released");
  CHECK(app.hip.hipMemPoolDestroy(pool) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipMemPoolDestroy: a memory pool that is not there");
  CHECK(app.hip.hipFreeAsync(memory, stream) == Error::kSuccess);
  CHECK(app.hip.hipFreeAsync(memory, stream) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipFreeAsync: " + address_text(memory) + ": no live allocation of a pool begins here");
  app.control.run_all();
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kSuccess);
}

}  // namespace
}  // namespace millrace::hip_standin
