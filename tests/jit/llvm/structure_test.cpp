// SPDX-License-Identifier: Apache-2.0
// Emitted loops, branches, reductions, slots and error reports.
#include <algorithm>
#include <limits>

#include <doctest/doctest.h>

#include "millrace/hal/host_kernel.h"
#include "millrace/jit/machine_builder.h"
#include "tests/jit/llvm/emit_support.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;

TEST_CASE("groups are run from first to end, each with its id") {
  MachineBuilder b("ids");
  const MemoryHandle y = b.buffer("y", DType::kI64, BufferAccess::kWrite);
  const MachineValue id = b.workgroup_id();
  b.store(y, id, b.add(id, b.i64(100)));
  const MachineKernel kernel = b.finish();
  for (const IsaLevel isa : host_isa_levels()) {
    const EmittedKernel emitted(kernel, isa);
    std::vector<std::int64_t> y_data(5, 0);
    CHECK(emitted.run({y_data.data()}, {}, 4) == 0);
    CHECK(y_data == std::vector<std::int64_t>{100, 101, 102, 103, 0});
    CHECK(emitted.run({nullptr}, {}, 0) == 0);
  }
}

TEST_CASE("a loop carries values, and one that never runs gives the initial ones") {
  MachineBuilder b("sums");
  const MemoryHandle y = b.buffer("y", DType::kI64, BufferAccess::kWrite);
  const MachineValue upper = b.size(Dim("upper")), step = b.size(Dim("step").at_least(1));
  // For i: for j <= i: sum += j; count += 1, in two carried values through two loops.
  const Values results =
      b.for_loop(b.i64(0), upper, step, {b.i64(10), b.i64(20)}, [&](MachineValue i, const Values& outer) {
        return b.for_loop(b.i64(0), b.add(i, b.i64(1)), b.i64(1), outer, [&](MachineValue j, const Values& inner) {
          return Values{b.add(inner[0], j), b.add(inner[1], b.i64(1))};
        });
      });
  b.store(y, b.i64(0), results[0]);
  b.store(y, b.i64(1), results[1]);
  const MachineKernel kernel = b.finish();
  for (const IsaLevel isa : host_isa_levels()) {
    const EmittedKernel emitted(kernel, isa);
    for (const std::int64_t n : {-5, 0, 1, 2, 7}) {
      for (const std::int64_t by : {1, 3}) {
        std::vector<std::int64_t> expected = {10, 20}, found(2);
        for (std::int64_t i = 0; i < n; i += by) {
          expected[0] += i * (i + 1) / 2;
          expected[1] += i + 1;
        }
        CHECK(emitted.run({found.data()}, {n, by}) == 0);
        CHECK(found == expected);
      }
    }
  }
}

TEST_CASE("a branch takes one side only, and branches nest in loops") {
  MachineBuilder b("collatz");
  const MemoryHandle y = b.buffer("y", DType::kI64, BufferAccess::kReadWrite);
  const MachineValue one = b.i64(1);
  // Steps of the Collatz walk from y[0] within 200 steps.
  const Values results =
      b.for_loop(b.i64(0), b.i64(200), one, {b.load(y, b.i64(0)), b.i64(0)}, [&](MachineValue, const Values& carried) {
        return b.if_else(
            b.le(carried[0], one), [&] { return carried; },
            [&] {
              const MachineValue n = carried[0];
              const Values next = b.if_else(
                  b.eq(b.bit_and(n, one), one), [&] { return Values{b.mul_add(n, b.i64(3), one)}; },
                  [&] { return Values{b.shr(n, one)}; });
              b.store(y, b.add(carried[1], b.i64(1)), next[0]);
              return Values{next[0], b.add(carried[1], one)};
            });
      });
  b.store(y, b.i64(150), results[1]);
  const MachineKernel kernel = b.finish();
  for (const IsaLevel isa : host_isa_levels()) {
    const EmittedKernel emitted(kernel, isa);
    std::vector<std::int64_t> found(160, -1), expected(160, -1);
    std::int64_t n = 27, steps = 0;
    found[0] = expected[0] = n;
    while (n > 1) {
      n = n % 2 == 1 ? 3 * n + 1 : n / 2;
      expected[static_cast<std::size_t>(++steps)] = n;
    }
    expected[150] = steps;
    CHECK(emitted.run({found.data()}) == 0);
    CHECK(found == expected);
  }
}

TEST_CASE("reductions of bools tell whether any lane is true, or all are") {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const std::uint32_t lanes : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
      MachineBuilder b("reduce");
      const MemoryHandle x = b.buffer("x", DType::kBool, BufferAccess::kRead),
                         y = b.buffer("y", DType::kBool, BufferAccess::kWrite);
      const MachineValue vector = b.load(x, b.i64(0), lanes);
      b.store(y, b.i64(0), b.reduce(KernelOp::kReduceMax, vector));
      b.store(y, b.i64(1), b.reduce(KernelOp::kReduceMin, vector));
      const EmittedKernel emitted(b.finish(), isa);
      for (std::uint32_t odd_one = 0; odd_one <= lanes; ++odd_one) {  // none, if it is `lanes`
        for (const bool others : {false, true}) {
          std::array<bool, 64> x_data{};
          for (std::uint32_t i = 0; i < lanes; ++i) x_data[i] = others != (i == odd_one);
          std::array<bool, 2> found{};
          CHECK(emitted.run({x_data.data(), found.data()}) == 0);
          const auto end = x_data.begin() + lanes;
          CHECK(found[0] == (std::count(x_data.begin(), end, true) > 0));
          CHECK(found[1] == (std::count(x_data.begin(), end, false) == 0));
        }
      }
    }
  }
}

TEST_CASE("reductions combine lanes as a halving tree") {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const std::uint32_t lanes : {1u, 2u, 4u, 8u, 16u}) {
      MachineBuilder b("reduce");
      const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead),
                         y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
      const MachineValue vector = b.load(x, b.i64(0), lanes);
      const KernelOp ops[] = {KernelOp::kReduceAdd, KernelOp::kReduceMul, KernelOp::kReduceMin, KernelOp::kReduceMax};
      for (int i = 0; i < 4; ++i) b.store(y, b.i64(i), b.reduce(ops[i], vector));
      const EmittedKernel emitted(b.finish(), isa);
      for (const bool with_nan : {false, true}) {
        std::vector<float> x_data(lanes), found(4);
        for (std::uint32_t i = 0; i < lanes; ++i) x_data[i] = 1.0f / static_cast<float>(i + 3) - 0.2f;
        if (with_nan) x_data[lanes / 2] = std::numeric_limits<float>::quiet_NaN();
        std::vector<float> sum = x_data, product = x_data;
        for (std::uint32_t half = lanes / 2; half > 0; half /= 2) {
          for (std::uint32_t i = 0; i < half; ++i) {
            sum[i] += sum[i + half];
            product[i] *= product[i + half];
          }
        }
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const auto [minimum, maximum] = std::ranges::minmax_element(x_data);
        const std::vector<float> expected = {sum[0], product[0], with_nan ? nan : *minimum, with_nan ? nan : *maximum};
        CHECK(emitted.run({x_data.data(), found.data()}) == 0);
        CHECK(first_difference(DType::kF32, found.data(), expected.data(), 4) == "");
      }
    }
  }
}

TEST_CASE("slots are where the plan puts them; large private ones need no help of the system") {
  MachineBuilder b("slots");
  const MemoryHandle y = b.buffer("y", DType::kI32, BufferAccess::kWrite);
  constexpr std::int64_t kNumElements = 20000;
  const MemoryHandle shared = b.workgroup_memory(DType::kI32, 4, "shared");
  const MemoryHandle own = b.private_memory(DType::kI32, kNumElements, "own");
  const MachineValue zero = b.i64(0), one = b.i64(1), n = b.i64(kNumElements);
  b.for_loop(zero, n, one, {}, [&](MachineValue i, const Values&) {
    b.store(own, b.sub(b.i64(kNumElements - 1), i), b.convert(DType::kI32, i));
    return Values{};
  });
  b.barrier();
  const Values sum =
      b.for_loop(zero, n, one, {b.constant_int(DType::kI32, 0)}, [&](MachineValue i, const Values& carried) {
        return Values{b.add(b.mul(carried[0], b.constant_int(DType::kI32, 3)), b.load(own, i))};
      });
  b.store(shared, b.i64(2), sum[0]);
  b.store(y, b.workgroup_id(), b.load(shared, b.i64(2)));
  const MachineKernel kernel = b.finish();
  const MemoryPlan plan{
      .slots = {{.name = "shared", .kind = MemoryKind::kWorkgroup, .offset_bytes = 64, .size_bytes = 16},
                {.name = "own", .kind = MemoryKind::kPrivate, .size_bytes = kNumElements * 4}},
      .workgroup_bytes = 80,
      .private_bytes = kNumElements * 4};
  std::uint32_t expected = 0;
  for (std::int64_t i = 0; i < kNumElements; ++i) {
    expected = expected * 3 + static_cast<std::uint32_t>(kNumElements - 1 - i);
  }
  for (const IsaLevel isa : host_isa_levels()) {
    const EmittedKernel emitted(kernel, isa, plan);
    std::vector<std::uint32_t> y_data(3), workgroup(20, 0);
    CHECK(emitted.run({y_data.data()}, {}, 3, workgroup.data()) == 0);
    CHECK(y_data == std::vector<std::uint32_t>(3, expected));
    CHECK(workgroup[64 / 4 + 2] == expected);
  }
}

TEST_CASE("slots that share bytes keep their order") {
  // The second slot is written after the first was read; both stand at 0.
  MachineBuilder b("overlay");
  const MemoryHandle y = b.buffer("y", DType::kF32, BufferAccess::kReadWrite);
  const MemoryHandle first = b.workgroup_memory(DType::kF32, 8, "first");
  const MemoryHandle second = b.workgroup_memory(DType::kI32, 8, "second");
  const MachineValue zero = b.i64(0);
  b.store(first, zero, b.load(y, zero, 8));
  b.barrier();
  const MachineValue read_back = b.load(first, b.size(Dim("shift")), 4);
  b.barrier();
  b.store(second, zero, b.splat(b.constant_int(DType::kI32, 7), 8));
  b.barrier();
  const MachineValue sevens = b.load(second, b.size(Dim("shift")), 4);
  b.store(y, zero, b.add(read_back, b.convert(DType::kF32, sevens)));
  const MachineKernel kernel = b.finish();
  const MemoryPlan plan{.slots = {{.name = "first", .size_bytes = 32, .first_phase = 0, .last_phase = 1},
                                  {.name = "second", .size_bytes = 32, .first_phase = 2, .last_phase = 3}},
                        .workgroup_bytes = 32};
  for (const IsaLevel isa : host_isa_levels()) {
    const EmittedKernel emitted(kernel, isa, plan);
    std::vector<float> y_data = {0, 1, 2, 3, 4, 5, 6, 7};
    alignas(64) std::byte workgroup[32];
    CHECK(emitted.run({y_data.data()}, {3}, 1, workgroup) == 0);
    CHECK(y_data == std::vector<float>{10, 11, 12, 13, 4, 5, 6, 7});
  }
}

TEST_CASE("an error is reported if any lane has it, and earlier errors stay in the status word") {
  for (const std::uint32_t lanes : {1u, 4u, 16u}) {
    MachineBuilder b("report");
    const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead);
    const MachineValue values = b.load(x, b.mul(b.workgroup_id(), b.i64(lanes)), lanes);
    b.report_error(b.lt(values, b.constant_int(DType::kI32, 0)), 1);
    b.report_error(b.eq(values, b.constant_int(DType::kI32, 5)), 4);
    const MachineKernel kernel = b.finish();
    for (const IsaLevel isa : host_isa_levels()) {
      const EmittedKernel emitted(kernel, isa);
      for (std::uint32_t wrong = 0; wrong < 3 * lanes; ++wrong) {
        std::vector<std::int32_t> x_data(3 * lanes, 1);
        CHECK(emitted.run({x_data.data()}, {}, 3) == 0);
        x_data[wrong] = -1;
        CHECK(emitted.run({x_data.data()}, {}, 3) == 1);
        x_data[(wrong + 1) % x_data.size()] = 5;
        CHECK(emitted.run({x_data.data()}, {}, 3) == 5);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
