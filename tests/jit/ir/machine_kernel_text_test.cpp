// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"

// Values are made one a statement: the order of a call's arguments, and so of their numbers, is the compiler's choice.

namespace millrace {
namespace {

TEST_CASE("a kernel's text holds its declarations, the facts of its symbols, and its code") {
  const SizeExpr n = Dim("n").at_least(1).at_most(1 << 20);
  MachineBuilder b("add_one");
  const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
  b.set_num_groups(ceil_div(n, 8));
  const MachineValue group = b.workgroup_id();
  const MachineValue eight = b.i64(8);
  const MachineValue offset = b.mul(group, eight);
  const MachineValue rest = b.sub(b.size(n), offset);
  const MachineValue lane = b.lane_iota(DType::kI64, 8);
  const MachineValue mask = b.lt(lane, rest);
  const MachineValue value = b.load_masked(x, offset, mask, b.constant(DType::kF32, 0));
  b.store_masked(y, offset, mask, b.add(value, b.constant(DType::kF32, 1)));
  CHECK(to_text(b.finish()) == R"(kernel add_one
groups floor_div(n + 7, 8)
symbol n: at_least(1).at_most(1048576)
buffer @0 x: f32 read
buffer @1 y: f32 write
size s0: n
body {
  %0 = workgroup_id : i64
  %1 = constant 8 : i64
  %3 = size s0 : i64
  %5 = lane_iota : i64x8
  %8 = constant 0 : f32
  %9 = splat %8 : f32x8
  %11 = constant 1 : f32
  %12 = splat %11 : f32x8
  %2 = mul %0, %1 : i64
  %4 = sub %3, %2 : i64
  %6 = splat %4 : i64x8
  %7 = lt %5, %6 : boolx8
  %10 = load_masked @0[%2], %7, %9 : f32x8
  %13 = add %10, %12 : f32x8
  store_masked @1[%2], %7, %13
}
)");
}

TEST_CASE("regions of a kernel's text are indented and name what they carry") {
  using Values = MachineBuilder::Values;
  MachineBuilder b("regions");
  const MemoryHandle keys = b.workgroup_memory(DType::kF16, 256, "keys");
  const MemoryHandle mine = b.private_memory(DType::kI32, 4, "mine");
  const MachineValue zero = b.i64(0);
  const MachineValue four = b.i64(4);
  const MachineValue one = b.i64(1);
  const MachineValue none = b.constant_int(DType::kI32, 0);
  const auto add_odd = [&](MachineValue i, const Values& sum) {
    const MachineValue first = b.convert(DType::kI32, b.extract(b.load(keys, i, 2), 1));
    const MachineValue low = b.bit_and(first, b.constant_int(DType::kI32, 1));
    return b.if_else(b.ne(low, none), [&] { return Values{b.add(sum[0], first)}; }, [&] { return sum; });
  };
  const Values sum = b.for_loop(zero, four, one, {none}, add_odd);
  b.barrier();
  const auto report = [&] {
    b.report_error(b.constant_int(DType::kBool, 1), 1);
    return Values{};
  };
  const auto keep = [&] {
    b.store(mine, zero, sum[0]);
    return Values{};
  };
  b.if_else(b.lt(sum[0], none), report, keep);
  CHECK(to_text(b.finish()) == R"(kernel regions
groups 1
slot #0 keys: workgroup f16[256]
slot #1 mine: private i32[4]
body {
  %0 = constant 0 : i64
  %1 = constant 4 : i64
  %2 = constant 1 : i64
  %3 = constant 0 : i32
  %9 = constant 1 : i32
  %16 = constant true : bool
  %14 = for %4 = %0 to %1 step %2 with %5 = %3 : i32 {
    %6 = load_vector #0[%4] : u16x2
    %7 = extract %6[1] : u16
    %8 = convert %7 : i32
    %10 = and %8, %9 : i32
    %11 = ne %10, %3 : bool
    %13 = if %11 : i32 {
      %12 = add %5, %8 : i32
      yield %12
    } else {
      yield %5
    }
    yield %13
  }
  barrier
  %15 = lt %14, %3 : bool
  if %15 {
    report_error %16, 1
  } else {
    store_vector #1[%0], %14
  }
}
)");
}

TEST_CASE("a kernel for many threads says how many, and what they exchange") {
  MachineBuilder b("count");
  b.set_workgroup(64, 32);
  const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead);
  const MemoryHandle count = b.buffer("count", DType::kU64, BufferAccess::kReadWrite);
  const MachineValue thread = b.thread_id();
  const MachineValue value = b.load(x, thread);
  const MachineValue other = b.shuffle(value, b.lane_id());
  const MachineValue opposite = b.shuffle_xor(value, 16);
  const MachineValue flags = b.ballot(b.lt(opposite, other));
  b.atomic(KernelOp::kAtomicAdd, count, b.i32(1), flags);
  CHECK(to_text(b.finish()) == R"(kernel count
groups 1
workgroup 64 threads, subgroups of 32
buffer @0 x: i32 read
buffer @1 count: u64 read write
body {
  %0 = thread_id : i32
  %2 = constant 31 : i32
  %8 = constant 1 : i32
  %1 = load_vector @0[%0] : i32
  %3 = and %0, %2 : i32
  %4 = shuffle %1, %3 : i32
  %5 = shuffle_xor %1, 16 : i32
  %6 = lt %5, %4 : bool
  %7 = ballot %6 : u64
  %9 = atomic_add @1[%8], %7 : u64
}
)");
}

}  // namespace
}  // namespace millrace
