// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/jit/kernel_compiler.h"
#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

using test::matmul_nest;
using test::unary_nest;

TEST_CASE("a contraction has two operations per point of its domain") {
  CHECK(count_flops(matmul_nest(4, 8, 3)) == 2 * 4 * 8 * 3);
  const Dim m("m"), n("n"), k("k");
  CHECK(count_flops(matmul_nest(m, n, k)).to_text() == "2*k*m*n");
}

TEST_CASE("an epilogue counts once per result") {
  LoopKernel kernel = matmul_nest(4, 8, 3);
  BodyBuilder b;
  const BodyValue sum = b.reduced(0, DType::kF32);
  b.yield(b.max(b.mul_add(sum, sum, sum), b.constant_like(sum, 0)));
  kernel.epilogue = b.finish();
  CHECK(count_flops(kernel) == 2 * 4 * 8 * 3 + 3 * 4 * 8);
}

TEST_CASE("floating-point arithmetic counts; integers, compares, selects and conversions do not") {
  const auto flops = [](DType dtype, auto body) {
    return count_flops(unary_nest("f", dtype, DType::kF32, {10}, body)).constant();
  };
  CHECK(flops(DType::kF32, [](auto& b, auto x) { return b.sqrt(b.add(x, x)); }) == 20);
  CHECK(flops(DType::kF16, [](auto& b, auto x) { return b.neg(x); }) == 10);
  CHECK(flops(DType::kF64, [](auto& b, auto x) { return b.convert(DType::kF32, b.div(x, x)); }) == 10);
  CHECK(flops(DType::kI32, [](auto& b, auto x) { return b.convert(DType::kF32, b.add(x, x)); }) == 0);
  CHECK(flops(DType::kF32, [](auto& b, auto x) { return b.select(b.lt(x, x), x, b.constant_like(x, 2)); }) == 0);
}

TEST_CASE("a planned loop carries its operations, whoever generates it") {
  for (const auto& generator : {make_llvm_generator(), make_interpreter_generator()}) {
    const Target target = Target::create({.isa = IsaLevel::kBaseline}, {generator}).value();
    CHECK(plan_kernel(matmul_nest(4, 8, 3), target, {.allow_reference = true}).value().kernel.flops == 192);
  }
}

}  // namespace
}  // namespace millrace
