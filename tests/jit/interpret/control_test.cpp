// SPDX-License-Identifier: Apache-2.0
// Loops, reductions and errors of interpreted kernels. More in tests/jit/kernels/run_*.kernel.
#include <cmath>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "millrace/jit/interpret.h"
#include "tests/support/kernels/machine_kernels.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;

/// Stores value i at result[i], an i64 buffer.
void store_all(MachineBuilder& b, MemoryHandle result, const Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) b.store(result, b.i64(static_cast<std::int64_t>(i)), values[i]);
}

/// sizes: lower, upper, step. Results: the sum of the indices, their number, the last index (-1 for none).
MachineKernel counting_loop() {
  MachineBuilder b("counting_loop");
  const MemoryHandle result = b.buffer("result", DType::kI64, BufferAccess::kWrite);
  const MachineValue lower = b.size(Dim("lower"));
  const MachineValue upper = b.size(Dim("upper"));
  const MachineValue step = b.size(Dim("step"));
  store_all(b, result,
            b.for_loop(lower, upper, step, {b.i64(0), b.i64(0), b.i64(-1)}, [&](MachineValue i, const Values& carried) {
              return Values{b.add(carried[0], i), b.add(carried[1], b.i64(1)), i};
            }));
  return b.finish();
}

TEST_CASE("a loop ends at the end of i64") {
  struct Case {
    std::int64_t lower, upper, step;
    std::vector<std::int64_t> expected;
  };
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const Case cases[] = {
      {kMax - 1, kMax, 1, {kMax - 1, 1, kMax - 1}},
      {kMax - 1, kMax, 5, {kMax - 1, 1, kMax - 1}},
  };
  for (const Case& c : cases) {
    std::vector<std::int64_t> result(3);
    test::run_interpreted(counting_loop(), {result.data()}, {c.lower, c.upper, c.step});
    CHECK(result == c.expected);
  }
}

TEST_CASE("a reduction repeatedly adds lane i and lane i + n/2") {
  for (const std::uint32_t lanes : {1u, 2u, 4u, 8u, 32u}) {
    std::mt19937_64 random(lanes);
    std::vector<float> x(lanes), tree;
    for (float& value : x)
      value = std::ldexp(static_cast<float>(random() % 1000) - 500, static_cast<int>(random() % 40));
    tree = x;
    for (std::uint32_t half = lanes / 2; half > 0; half /= 2) {
      for (std::uint32_t i = 0; i < half; ++i) tree[i] = tree[i] + tree[i + half];
    }
    MachineBuilder b("sum");
    const MachineValue value = b.load(b.buffer("x", DType::kF32, BufferAccess::kRead), b.i64(0), lanes);
    b.store(b.buffer("y", DType::kF32, BufferAccess::kWrite), b.i64(0), b.reduce(KernelOp::kReduceAdd, value));
    float found = 0;
    test::run_interpreted(b.finish(), {x.data(), &found});
    CHECK(found == tree[0]);
  }
}

template <class T>
T reduced(KernelOp op, std::vector<T> x) {
  MachineBuilder b("reduce");
  const MachineValue value =
      b.load(b.buffer("x", dtype_of<T>, BufferAccess::kRead), b.i64(0), static_cast<std::uint32_t>(x.size()));
  b.store(b.buffer("y", dtype_of<T>, BufferAccess::kWrite), b.i64(0), b.reduce(op, value));
  T found{};
  test::run_interpreted(b.finish(), {x.data(), &found});
  return found;
}

TEST_CASE("reductions wrap, propagate NaN and order zeros as their ops do") {
  CHECK(reduced<std::uint8_t>(KernelOp::kReduceAdd, {200, 100, 3, 4}) == 51);
  CHECK(reduced<std::int16_t>(KernelOp::kReduceMul, {300, 300, 1, 1}) == static_cast<std::int16_t>(90000));
  CHECK(reduced<std::int64_t>(KernelOp::kReduceMin, {5, -7, 3, 9}) == -7);
  CHECK(reduced<std::uint32_t>(KernelOp::kReduceMax, {5, 4000000000u, 3, 9}) == 4000000000u);
  CHECK(std::isnan(reduced<float>(KernelOp::kReduceMax, {1, 2, NAN, 4})));
  CHECK(std::isnan(reduced<double>(KernelOp::kReduceMin, {NAN, 2, 3, 4})));
  CHECK(std::signbit(reduced<double>(KernelOp::kReduceMin, {0.0, -0.0, 0.0, 0.0})));
  CHECK(!std::signbit(reduced<float>(KernelOp::kReduceMax, {-0.0f, 0.0f, -0.0f, -0.0f})));
}

TEST_CASE("errors are added to the status word where a lane is true") {
  MachineBuilder b("report");
  const MachineValue flags =
      b.load(b.buffer("x", DType::kBool, BufferAccess::kRead), b.mul(b.workgroup_id(), b.i64(4)), 4);
  b.report_error(flags, 1);
  b.report_error(b.extract(flags, 3), 4);
  const MachineKernel kernel = b.finish();
  const auto status = [&](std::vector<std::uint8_t> x) {
    return test::run_interpreted(kernel, {x.data()}, {}, static_cast<std::uint32_t>(x.size() / 4));
  };
  CHECK(status({0, 0, 0, 0}) == 0);
  CHECK(status({0, 1, 0, 0}) == 1);
  CHECK(status({0, 0, 0, 1}) == 5);
  CHECK(status({0, 1, 0, 0, 0, 0, 0, 0}) == 1);
}

TEST_CASE("one kernel runs again with other sizes and with any part of its groups") {
  MachineBuilder b("groups");
  const MemoryHandle result = b.buffer("result", DType::kI64, BufferAccess::kWrite);
  b.store(result, b.workgroup_id(), b.size(Dim("n")));
  const MachineKernel machine = b.finish();
  const auto kernel = make_interpreted_kernel(machine, plan_memory(machine, TargetSpec{}).value());
  std::vector<std::int64_t> found(6);
  void* buffers[] = {found.data()};
  std::uint32_t status = 0;
  for (const std::int64_t n : {7, 8}) {
    const auto first = static_cast<std::uint32_t>(2 * (n - 7) + 1);
    REQUIRE(kernel->run({&status, nullptr, buffers, &n}, first, first + 2).ok());
  }
  CHECK(found == std::vector<std::int64_t>{0, 7, 7, 8, 8, 0});
}

}  // namespace
}  // namespace millrace
