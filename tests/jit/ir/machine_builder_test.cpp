// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/machine_builder.h"

#include <doctest/doctest.h>

#include "tests/support/golden.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;

std::string body_text(MachineBuilder& b) {
  const std::string text = to_text(b.finish());
  return text.substr(text.find("body {"));
}

TEST_CASE("equal constants, sizes and ids are made once, and a scalar is splat if the other operand is a vector") {
  MachineBuilder b("k");
  const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kReadWrite);
  const MachineValue offset = b.add(b.size(Dim("n")), b.size(SizeExpr(3)));
  const MachineValue again = b.add(b.size(Dim("n")), b.i64(3));
  const MachineValue value = b.load(x, offset, 4);
  b.store(x, again, b.mul(value, b.constant(DType::kF32, 2)));
  b.store(x, again, b.add(b.constant(DType::kF32, 2), value));
  b.store(x, offset, b.splat(b.extract(value, 2), 4));
  const std::string text = body_text(b);
  CHECK(text.find("= size s0 : i64") == text.rfind("= size s0 : i64"));
  CHECK(text.find("= constant 3 : i64") == text.rfind("= constant 3 : i64"));
  CHECK(text.find("= constant 2 : f32") == text.rfind("= constant 2 : f32"));
  CHECK(text.find("= splat") != text.rfind("= splat"));
  CHECK(text.find("= splat", text.find("= splat") + 1) == text.rfind("= splat"));  // of the constant, of the lane
}

TEST_CASE("constants and sizes of a loop are defined before it") {
  MachineBuilder b("k");
  const MemoryHandle x = b.buffer("x", DType::kI64, BufferAccess::kWrite);
  const MachineValue zero = b.i64(0);
  const MachineValue end = b.i64(9);
  b.for_loop(zero, end, b.i64(1), {}, [&](MachineValue i, const Values&) {
    const MachineValue lanes = b.lane_iota(DType::kI64, 2);
    b.store(x, i, b.mul(lanes, b.constant_int(DType::kI64, 5)));
    return Values{};
  });
  CHECK(test::golden_problem("builder_before_loops.txt", body_text(b)) == "");
}

TEST_CASE("instructions without effect are not written") {
  MachineBuilder b("k");
  const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kReadWrite);
  const MachineValue zero = b.i64(0);
  const MachineValue value = b.load(x, zero);
  const MachineValue same = b.convert(DType::kF32, b.reduce(KernelOp::kReduceAdd, b.extract(b.splat(value, 1), 0)));
  b.store(x, zero, same);
  CHECK(test::golden_problem("builder_no_effect.txt", body_text(b)) == "");
}

TEST_CASE("16-bit floats are loaded and stored as their bits") {
  MachineBuilder b("k");
  const MemoryHandle x = b.buffer("x", DType::kBF16, BufferAccess::kReadWrite);
  const MachineValue value = b.load(x, b.i64(0), 8);
  CHECK(value.dtype == DType::kU16);
  b.store(x, b.i64(0), value);
  CHECK(verify(b.finish()).ok());
}

}  // namespace
}  // namespace millrace
