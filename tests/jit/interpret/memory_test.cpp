// SPDX-License-Identifier: Apache-2.0
// Buffers end, or begin, at pages that must not be touched.
#include <cstring>

#include <doctest/doctest.h>

#include "tests/support/guarded_buffer.h"
#include "tests/support/machine_kernels.h"

namespace millrace {
namespace {

using test::GuardedBuffer;

constexpr GuardedBuffer::Guard kGuards[] = {GuardedBuffer::Guard::kBefore, GuardedBuffer::Guard::kAfter};
constexpr DType kDTypes[] = {DType::kBool, DType::kI8,  DType::kU16, DType::kF16,
                             DType::kBF16, DType::kF32, DType::kI64, DType::kF64};

/// Distinct elements, as far as the dtype has them.
void fill(const GuardedBuffer& buffer, DType dtype) {
  std::size_t i = 0;
  for (std::byte& byte : buffer.bytes()) byte = dtype == DType::kBool ? std::byte(i++ % 2) : std::byte(i++ * 7 + 1);
}

Scalar stored(const GuardedBuffer& buffer, DType dtype, std::size_t i) {
  return test::element_at(buffer.data(), register_dtype(dtype), i);
}

TEST_CASE("vectors move exactly their own elements") {
  for (const DType dtype : kDTypes) {
    for (const std::uint32_t lanes : {1u, 3u, 16u}) {
      for (const auto guard : kGuards) {
        MachineBuilder b("copy");
        const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead);
        const MemoryHandle y = b.buffer("y", dtype, BufferAccess::kWrite);
        b.store(y, b.i64(0), b.load(x, b.i64(0), lanes));
        GuardedBuffer from(lanes * size_bytes(dtype), guard), to(lanes * size_bytes(dtype), guard);
        fill(from, dtype);
        from.make_read_only();
        test::run_interpreted(b.finish(), {from.data(), to.data()});
        CHECK(std::memcmp(from.data(), to.data(), from.bytes().size()) == 0);
        CHECK(to.is_slack_intact());
      }
    }
  }
}

/// y[i] = x[i] for lanes [begin, end), z = all lanes loaded, 1 where masked. Offset 0 is lane 0.
MachineKernel masked_copy(DType dtype, std::uint32_t lanes) {
  MachineBuilder b("masked_copy");
  const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", dtype, BufferAccess::kWrite);
  const MemoryHandle z = b.buffer("z", dtype, BufferAccess::kWrite);
  const MachineValue base = b.size(Dim("base"));
  const MachineValue begin = b.size(Dim("begin"));
  const MachineValue end = b.size(Dim("end"));
  const MachineValue lane = b.lane_iota(DType::kI64, lanes);
  const MachineValue mask = b.bit_and(b.ge(lane, begin), b.lt(lane, end));
  const MachineValue loaded = b.load_masked(x, base, mask, b.constant_int(register_dtype(dtype), 1));
  b.store_masked(y, base, mask, loaded);
  b.store(z, b.i64(0), loaded);
  return b.finish();
}

TEST_CASE("lanes that a mask leaves out touch no memory and give the other value") {
  constexpr std::uint32_t kLanes = 8;
  for (const DType dtype : kDTypes) {
    const MachineKernel kernel = masked_copy(dtype, kLanes);
    for (std::uint32_t begin = 0; begin <= kLanes; ++begin) {
      for (std::uint32_t end = begin; end <= kLanes; ++end) {
        // The buffers hold the lanes of the mask only: the others would stand on the guard pages.
        const std::size_t size = (end - begin) * size_bytes(dtype);
        GuardedBuffer x(size, begin == 0 ? kGuards[1] : kGuards[0]), y(size, end == kLanes ? kGuards[0] : kGuards[1]);
        GuardedBuffer z(kLanes * size_bytes(dtype), kGuards[1]);
        fill(x, dtype);
        x.make_read_only();
        test::run_interpreted(kernel, {x.data(), y.data(), z.data()}, {-std::int64_t{begin}, begin, end});
        CHECK((size == 0 || std::memcmp(x.data(), y.data(), size) == 0));
        for (std::uint32_t i = 0; i < kLanes; ++i) {
          const bool is_loaded = begin <= i && i < end;
          const Scalar one = Scalar::from_int(register_dtype(dtype), 1);
          CHECK(stored(z, dtype, i) == (is_loaded ? stored(x, dtype, i - begin) : one));
        }
      }
    }
  }
}

TEST_CASE("gather and scatter go where each lane says, and where the mask lets them") {
  MachineBuilder b("permute");
  const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", DType::kI32, BufferAccess::kWrite);
  const MachineValue from = b.load(b.buffer("from", DType::kI64, BufferAccess::kRead), b.i64(0), 6);
  const MachineValue to = b.load(b.buffer("to", DType::kI64, BufferAccess::kRead), b.i64(0), 6);
  const MachineValue mask = b.load(b.buffer("mask", DType::kBool, BufferAccess::kRead), b.i64(0), 6);
  const MachineValue gathered = b.gather(x, from, mask, b.constant_int(DType::kI32, -1));
  b.scatter(y, to, mask, gathered);
  b.store(b.buffer("z", DType::kI32, BufferAccess::kWrite), b.i64(0), gathered);
  std::int32_t in[] = {10, 11, 12, 13}, out[] = {0, 0, 0, 0}, all[6];
  std::int64_t sources[] = {3, 0, 1 << 30, 2, 1, 0}, targets[] = {0, 2, -(1 << 30), 2, 3, 3};
  bool on[] = {true, true, false, true, true, true};
  test::run_interpreted(b.finish(), {in, out, sources, targets, on, all});
  CHECK(std::vector(all, all + 6) == std::vector<std::int32_t>{13, 10, -1, 12, 11, 10});
  CHECK(std::vector(out, out + 4) ==
        std::vector<std::int32_t>{13, 0, 12, 10});  // of two for one place, the higher lane
}

TEST_CASE("slots hold what is stored in them, each on its own") {
  MachineBuilder b("slots");
  const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
  const MemoryHandle keys = b.workgroup_memory(DType::kF32, 16, "keys");
  const MemoryHandle mine = b.private_memory(DType::kF32, 4, "mine");
  const MachineValue zero = b.i64(0);
  b.store(keys, zero, b.load(x, zero, 16));
  b.store(mine, zero, b.load(x, b.i64(16), 4));
  b.barrier();
  b.store(y, zero, b.load(mine, zero, 4));
  b.store(y, b.i64(4), b.load(keys, zero, 16));
  std::vector<float> in(20), out(20);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  test::run_interpreted(b.finish(), {in.data(), out.data()});
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(out[i] == static_cast<float>(i < 4 ? i + 16 : i - 4));
}

}  // namespace
}  // namespace millrace
