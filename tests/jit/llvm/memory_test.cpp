// SPDX-License-Identifier: Apache-2.0
// Emitted loads and stores: masked lanes touch no memory.
#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/llvm/emit_support.h"

namespace millrace {
namespace {

using test::GuardedMemory;

constexpr DType kDTypes[] = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32,
                             DType::kI64,  DType::kF16, DType::kF32, DType::kF64};

std::byte pattern(DType dtype, std::size_t byte) {
  return dtype == DType::kBool ? std::byte(byte % 3 == 0) : std::byte(byte * 37 + 1);
}

/// y[i] = x[i] for begin <= i < end through one masked load and one masked store of `lanes` at offset 0; the other
/// lanes of the load give `other`, which goes to z unmasked.
MachineKernel masked_copy(DType dtype, std::uint32_t lanes) {
  MachineBuilder b("masked_copy");
  const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead), y = b.buffer("y", dtype, BufferAccess::kWrite),
                     z = b.buffer("z", dtype, BufferAccess::kWrite);
  const MachineValue begin = b.size(Dim("begin")), end = b.size(Dim("end")), base = b.size(Dim("base"));
  const MachineValue lane = b.lane_iota(DType::kI64, lanes);
  const MachineValue mask = b.bit_and(b.ge(lane, begin), b.lt(lane, end));
  const MachineValue other = b.constant_int(dtype == DType::kF16 ? DType::kU16 : dtype, 1);
  const MachineValue loaded = b.load_masked(x, base, mask, other);
  b.store_masked(y, base, mask, loaded);
  b.store(z, b.i64(0), loaded);
  return b.finish();
}

/// The buffers hold lanes [begin, end) only; the others would stand on the guard pages around them.
void check_masked(DType dtype, std::uint32_t lanes, const EmittedKernel& kernel, std::uint32_t begin, std::uint32_t end,
                  GuardedMemory::Side side) {
  const std::size_t size = size_bytes(dtype), count = end - begin;
  const GuardedMemory x(count * size, side), y(count * size, side);
  for (std::size_t i = 0; i < count * size; ++i) x.data()[i] = pattern(dtype, i);
  std::vector<std::byte> z(lanes * size), expected(lanes * size);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const std::uint64_t one = dtype == DType::kF32   ? Scalar::of(1.0f).bits
                              : dtype == DType::kF64 ? Scalar::of(1.0).bits
                                                     : 1;
    const bool is_inside = lane >= begin && lane < end;
    std::memcpy(&expected[lane * size], is_inside ? static_cast<const void*>(x.data() + (lane - begin) * size) : &one,
                size);
  }
  const auto base = -static_cast<std::int64_t>(begin);
  CHECK(kernel.run({x.data(), y.data(), z.data()}, {begin, end, base}) == 0);
  CHECK(std::memcmp(y.data(), x.data(), count * size) == 0);
  CHECK(std::memcmp(z.data(), expected.data(), z.size()) == 0);
}

TEST_CASE("masked lanes of a load and a store touch no memory") {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const DType dtype : kDTypes) {
      for (const std::uint32_t lanes : {1u, 2u, 4u, 8u, 16u}) {
        INFO(to_text(isa), " ", to_text(dtype), "x", lanes);
        const EmittedKernel kernel(masked_copy(dtype, lanes), isa);
        for (std::uint32_t begin = 0; begin < lanes; ++begin) {
          for (std::uint32_t end = begin; end <= lanes; ++end) {
            check_masked(dtype, lanes, kernel, begin, end, GuardedMemory::Side::kEnd);
            check_masked(dtype, lanes, kernel, begin, end, GuardedMemory::Side::kStart);
          }
        }
      }
    }
  }
}

/// y[i] = x[index[i]], then z[index[i]] = i, both where index[i] < limit.
MachineKernel gather_scatter(DType dtype, std::uint32_t lanes) {
  MachineBuilder b("gather_scatter");
  const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead),
                     index = b.buffer("index", DType::kI64, BufferAccess::kRead),
                     y = b.buffer("y", dtype, BufferAccess::kWrite),
                     z = b.buffer("z", DType::kI32, BufferAccess::kWrite);
  const MachineValue offsets = b.load(index, b.i64(0), lanes);
  const MachineValue mask = b.lt(offsets, b.size(Dim("limit")));
  const MachineValue other = b.constant_int(dtype == DType::kF16 ? DType::kU16 : dtype, 1);
  b.store(y, b.i64(0), b.gather(x, offsets, mask, other));
  b.scatter(z, offsets, mask, b.lane_iota(DType::kI32, lanes));
  return b.finish();
}

TEST_CASE("masked lanes of a gather and a scatter touch no memory, and higher lanes win") {
  constexpr std::int64_t kLimit = 8;
  for (const IsaLevel isa : host_isa_levels()) {
    for (const DType dtype : kDTypes) {
      for (const std::uint32_t lanes : {1u, 2u, 4u, 8u, 16u}) {
        INFO(to_text(isa), " ", to_text(dtype), "x", lanes);
        const EmittedKernel kernel(gather_scatter(dtype, lanes), isa);
        const std::size_t size = size_bytes(dtype);
        const GuardedMemory x(kLimit * size, GuardedMemory::Side::kEnd), z(kLimit * 4, GuardedMemory::Side::kEnd);
        for (std::size_t i = 0; i < kLimit * size; ++i) x.data()[i] = pattern(dtype, i);
        std::vector<std::int64_t> index;
        for (std::uint32_t i = 0; i < lanes; ++i)
          index.push_back((i * i * 3 + 7) % 11);  // some out of range, some twice
        std::vector<std::byte> y(lanes * size), expected_y(lanes * size);
        std::vector<std::int32_t> expected_z(kLimit, 0);
        for (std::uint32_t i = 0; i < lanes; ++i) {
          const std::uint64_t one = dtype == DType::kF32   ? Scalar::of(1.0f).bits
                                    : dtype == DType::kF64 ? Scalar::of(1.0).bits
                                                           : 1;
          const bool is_inside = index[i] < kLimit;
          std::memcpy(&expected_y[i * size],
                      is_inside ? static_cast<const void*>(x.data() + static_cast<std::size_t>(index[i]) * size) : &one,
                      size);
          if (is_inside) expected_z[static_cast<std::size_t>(index[i])] = static_cast<std::int32_t>(i);
        }
        CHECK(kernel.run({x.data(), index.data(), y.data(), z.data()}, {kLimit}) == 0);
        CHECK(y == expected_y);
        CHECK(std::memcmp(z.data(), expected_z.data(), kLimit * 4) == 0);
      }
    }
  }
}

/// y[i] = x[base + 2 * i], where begin <= i < end unless it loads all lanes; the other lanes give 1.
MachineKernel every_second(DType dtype, std::uint32_t lanes, bool is_masked) {
  MachineBuilder b("every_second");
  const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead), y = b.buffer("y", dtype, BufferAccess::kWrite);
  const MachineValue begin = b.size(Dim("begin")), end = b.size(Dim("end")), base = b.size(Dim("base"));
  const MachineValue lane = b.lane_iota(DType::kI64, lanes);
  const MachineValue two = b.splat(b.i64(2), lanes);
  const MachineValue offsets = b.add(b.mul(lane, two), b.splat(base, lanes));
  const MachineValue in_range = b.bit_and(b.ge(lane, begin), b.lt(lane, end));
  const MachineValue mask = is_masked ? in_range : b.splat(b.constant_int(DType::kBool, 1), lanes);
  const MachineValue other = b.constant_int(dtype == DType::kF16 ? DType::kU16 : dtype, 1);
  b.store(y, b.i64(0), b.gather(x, offsets, mask, other));
  return b.finish();
}

TEST_CASE("a gather of every second element touches nothing around its elements, and needs no gather instruction") {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const DType dtype : kDTypes) {
      for (const std::uint32_t lanes : {2u, 4u, 8u, 16u}) {
        INFO(to_text(isa), " ", to_text(dtype), "x", lanes);
        const EmittedKernel whole(every_second(dtype, lanes, false), isa, {}, {.want_asm = true});
        const EmittedKernel masked(every_second(dtype, lanes, true), isa, {}, {.want_asm = true});
        CHECK((whole.assembly() + masked.assembly()).find("gather") == std::string::npos);
        const std::size_t size = size_bytes(dtype);
        for (std::uint32_t begin = 0; begin < lanes; ++begin) {
          for (std::uint32_t end = begin + 1; end <= lanes; ++end) {
            const bool is_whole = begin == 0 && end == lanes;
            for (const auto side : {GuardedMemory::Side::kStart, GuardedMemory::Side::kEnd}) {
              const std::size_t count = 2 * (end - begin) - 1;
              const GuardedMemory x(count * size, side);
              for (std::size_t i = 0; i < count * size; ++i) x.data()[i] = pattern(dtype, i);
              std::vector<std::byte> y(lanes * size), expected(lanes * size);
              for (std::uint32_t lane = 0; lane < lanes; ++lane) {
                const std::uint64_t one = dtype == DType::kF32   ? Scalar::of(1.0f).bits
                                          : dtype == DType::kF64 ? Scalar::of(1.0).bits
                                                                 : 1;
                const bool is_inside = lane >= begin && lane < end;
                std::memcpy(&expected[lane * size],
                            is_inside ? static_cast<const void*>(x.data() + 2 * (lane - begin) * size) : &one, size);
              }
              const auto base = -2 * static_cast<std::int64_t>(begin);
              CHECK(masked.run({x.data(), y.data()}, {begin, end, base}) == 0);
              CHECK(y == expected);
              std::ranges::fill(y, std::byte{0});
              if (is_whole) CHECK(whole.run({x.data(), y.data()}, {begin, end, base}) == 0);
              if (is_whole) CHECK(y == expected);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace
