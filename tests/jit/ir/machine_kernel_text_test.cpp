// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"
#include "tests/support/golden.h"

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
  CHECK(test::golden_problem("kernel_with_symbol.txt", to_text(b.finish())) == "");
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
  CHECK(test::golden_problem("kernel_with_regions.txt", to_text(b.finish())) == "");
}

TEST_CASE("a kernel for many threads prints their number, and what they exchange") {
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
  CHECK(test::golden_problem("kernel_with_threads.txt", to_text(b.finish())) == "");
}

}  // namespace
}  // namespace millrace
