// SPDX-License-Identifier: Apache-2.0
// Interpreted loads and stores, of buffers that end or begin at pages that must not be touched.
#include <cstring>

#include <doctest/doctest.h>

#include "tests/support/guarded_buffer.h"
#include "tests/support/kernels/machine_kernels.h"

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

TEST_CASE("masked-out lanes touch no memory and give the other value") {
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

}  // namespace
}  // namespace millrace
