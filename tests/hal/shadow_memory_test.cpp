// SPDX-License-Identifier: Apache-2.0
#include "hal/sim/shadow_memory.h"

#include <doctest/doctest.h>

#include "millrace/hal/host_kernel.h"

namespace millrace {
namespace {

struct Layout {
  std::uint64_t flags_offset = 64;
  bool is_one_buffer = false;  // y is x, from element 8 on
};

/// 64 threads; buffers @0 x (16 i32, read), @1 y (16 i32, written); slots #0 keys (8 i32), #1 flags (4 bytes), #2 mine
/// (4 f64, private).
class Watched {
 public:
  explicit Watched(const Layout& layout = {})
      : y_(layout.is_one_buffer ? x_ + 8 : x_ + 16), shadow_({ObservedBuffer::whole(64), ObservedBuffer::whole(64)}) {
    kernel_.workgroup_size = 64;
    kernel_.workgroup_bytes = 68;
    kernel_.private_bytes = 32;
    kernel_.memories = {
        {.name = "@0 ('x')", .kind = MemoryKind::kBuffer, .is_written = false, .element_bytes = 4},
        {.name = "@1 ('y')", .kind = MemoryKind::kBuffer, .is_written = true, .element_bytes = 4},
        {.name = "#0 ('keys')", .kind = MemoryKind::kWorkgroup, .element_bytes = 4, .num_elements = 8},
        {.name = "#1 ('flags')",
         .kind = MemoryKind::kWorkgroup,
         .element_bytes = 1,
         .num_elements = 4,
         .offset_bytes = layout.flags_offset},
        {.name = "#2 ('mine')", .kind = MemoryKind::kPrivate, .element_bytes = 8, .num_elements = 4},
    };
    begin_group(0);
  }

  void begin_group(std::uint32_t group) {
    void* buffers[] = {x_, y_};
    const KernelArgs args{nullptr, nullptr, buffers, nullptr};
    REQUIRE(shadow_.begin_group(kernel_, args, group).ok());
  }
  void barrier() { REQUIRE(shadow_.barrier(0).ok()); }

  struct At {
    std::uint32_t thread;
    std::int64_t element;
    std::uint32_t count = 1;
  };
  std::string load(std::uint32_t memory, At at) { return touch(AccessKind::kLoad, memory, at); }
  std::string store(std::uint32_t memory, At at) { return touch(AccessKind::kStore, memory, at); }
  std::string update(std::uint32_t memory, At at) { return touch(AccessKind::kAtomic, memory, at); }

 private:
  std::string touch(AccessKind kind, std::uint32_t memory, At at) {
    const ThreadAccess thread{.thread = at.thread, .num_elements = at.count, .first_element = at.element};
    return shadow_.access({.kind = kind, .memory = memory, .line = ++line_, .threads = {&thread, 1}}).message();
  }

  std::int32_t x_[32] = {};
  std::int32_t* y_;
  ObservedKernel kernel_;
  ShadowMemory shadow_;
  std::uint32_t line_ = 10;  // of the last access
};

constexpr std::uint32_t kX = 0, kY = 1, kKeys = 2, kFlags = 3, kMine = 4;

TEST_CASE("accesses stay in their buffer or slot") {
  Watched watched;
  CHECK(watched.load(kX, {0, 15}) == "");
  CHECK(watched.load(kX, {3, 16}) == "thread 3 of group 0 loads element 16 of @0 ('x'), which has 16");
  CHECK(watched.load(kX, {3, 13, 4}) == "thread 3 of group 0 loads 4 elements from 13 on of @0 ('x'), which has 16");
  CHECK(watched.store(kKeys, {0, -1}) == "thread 0 of group 0 stores element -1 of #0 ('keys'), which has 8");
  CHECK(watched.update(kKeys, {0, INT64_MAX}) ==
        "thread 0 of group 0 updates element 9223372036854775807 of #0 ('keys'), which has 8");
  CHECK(watched.store(kMine, {63, 4}) == "thread 63 of group 0 stores element 4 of #2 ('mine'), which has 4");
}

TEST_CASE("workgroup and private memory is stored to before it is read, by each group and thread anew") {
  Watched watched;
  CHECK(watched.store(kKeys, {1, 2}) == "");
  CHECK(watched.store(kMine, {1, 3}) == "");
  watched.barrier();
  CHECK(watched.load(kKeys, {2, 2}) == "");
  CHECK(watched.load(kMine, {1, 3}) == "");
  CHECK(watched.load(kKeys, {2, 2, 2}) ==
        "thread 2 of group 0 loads element 3 of #0 ('keys'), byte 12 of workgroup memory, where nothing was stored");
  CHECK(watched.update(kFlags, {2, 1}) ==
        "thread 2 of group 0 updates element 1 of #1 ('flags'), byte 65 of workgroup memory, where nothing was stored");
  CHECK(watched.load(kMine, {2, 3}) ==
        "thread 2 of group 0 loads element 3 of #2 ('mine'), byte 24 of private memory, where nothing was stored");
  watched.begin_group(1);
  CHECK(watched.load(kKeys, {2, 2}) ==
        "thread 2 of group 1 loads element 2 of #0 ('keys'), byte 8 of workgroup memory, where nothing was stored");
}

TEST_CASE("a slot's value is undefined after another slot is stored to its bytes") {
  Watched watched({.flags_offset = 4});
  CHECK(watched.store(kKeys, {1, 0, 8}) == "");
  CHECK(watched.store(kFlags, {1, 1}) == "");
  CHECK(watched.load(kFlags, {1, 1}) == "");
  CHECK(watched.load(kKeys, {1, 2}) == "");
  CHECK(watched.load(kKeys, {1, 1}) ==
        "thread 1 of group 0 loads element 1 of #0 ('keys'), byte 5 of workgroup memory, where #1 ('flags') was stored "
        "last");
}

TEST_CASE("two threads race if one stores and no barrier is between them") {
  {
    Watched watched;
    CHECK(watched.store(kKeys, {3, 2}) == "");
    CHECK(watched.load(kKeys, {3, 2}) == "");
    CHECK(watched.load(kKeys, {4, 2}) ==
          "thread 4 of group 0 loads element 2 of #0 ('keys'), byte 8 of workgroup memory, which thread 3 of group 0 "
          "stored at line 11; a barrier must separate them");
  }
  {
    Watched watched;
    CHECK(watched.store(kKeys, {3, 0, 8}) == "");
    watched.barrier();
    CHECK(watched.load(kKeys, {4, 1}) == "");
    CHECK(watched.load(kKeys, {5, 1}) == "");
    CHECK(watched.store(kKeys, {4, 1}) ==
          "thread 4 of group 0 stores element 1 of #0 ('keys'), byte 4 of workgroup memory, which thread 5 of group 0 "
          "loaded at line 13; a barrier must separate them");
  }
  {
    Watched watched;
    CHECK(watched.store(kKeys, {3, 2}) == "");
    CHECK(watched.store(kKeys, {4, 2}) ==
          "thread 4 of group 0 stores element 2 of #0 ('keys'), byte 8 of workgroup memory, which thread 3 of group 0 "
          "stored at line 11; a barrier must separate them");
  }
}

TEST_CASE("atomics of several threads do not race with each other, but with loads and stores") {
  Watched watched;
  CHECK(watched.store(kKeys, {0, 0, 8}) == "");
  watched.barrier();
  CHECK(watched.update(kKeys, {1, 5}) == "");
  CHECK(watched.update(kKeys, {2, 5}) == "");
  CHECK(watched.load(kKeys, {1, 5}) ==
        "thread 1 of group 0 loads element 5 of #0 ('keys'), byte 20 of workgroup memory, which thread 2 of group 0 "
        "updated at line 13; a barrier must separate them");
  watched.barrier();
  CHECK(watched.load(kKeys, {1, 5}) == "");
  CHECK(watched.update(kKeys, {2, 5}) ==
        "thread 2 of group 0 updates element 5 of #0 ('keys'), byte 20 of workgroup memory, which thread 1 of group 0 "
        "loaded at line 15; a barrier must separate them");
}

TEST_CASE("buffers that share memory race there") {
  Watched watched({.is_one_buffer = true});
  CHECK(watched.load(kX, {1, 7}) == "");
  CHECK(watched.load(kX, {1, 8}) == "");
  CHECK(watched.store(kY, {2, 8}) == "");
  CHECK(watched.store(kY, {2, 0}) ==
        "thread 2 of group 0 stores element 0 of @1 ('y'), byte 0 of the buffer, which thread 1 of group 0 loaded at "
        "line 12; not even a barrier orders buffers within a dispatch");
}

TEST_CASE("nothing orders buffers within a dispatch, neither barriers nor groups") {
  Watched watched;
  CHECK(watched.load(kX, {1, 0}) == "");
  CHECK(watched.load(kX, {2, 0}) == "");
  CHECK(watched.store(kY, {1, 0}) == "");
  CHECK(watched.update(kY, {1, 3}) == "");
  watched.barrier();
  CHECK(watched.store(kY, {2, 0}) ==
        "thread 2 of group 0 stores element 0 of @1 ('y'), byte 0 of the buffer, which thread 1 of group 0 stored at "
        "line 13; not even a barrier orders buffers within a dispatch");
  watched.begin_group(1);
  CHECK(watched.update(kY, {1, 3}) == "");
  CHECK(watched.load(kY, {1, 3, 1}) ==
        "thread 1 of group 1 loads element 3 of @1 ('y'), byte 12 of the buffer, which thread 1 of group 0 updated at "
        "line 14; not even a barrier orders buffers within a dispatch");
}

TEST_CASE("a kernel that does not report its accesses is not observed") {
  struct Silent final : HostKernel {
    Status run(const KernelArgs&, std::uint32_t, std::uint32_t) const override { return {}; }
  };
  const Status status = Silent().run_observed({}, 0, 1, {});
  CHECK(status.code() == StatusCode::kUnimplemented);
  CHECK(status.message() ==
        "the kernel cannot report its accesses to an observer; run it without one, or interpret it");
}

}  // namespace
}  // namespace millrace
