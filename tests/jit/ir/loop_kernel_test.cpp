// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/jit/map/nests.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

using test::matmul_nest;
using test::unary_nest;

TEST_CASE("a loop kernel's text determines its meaning") {
  const LoopKernel kernel = matmul_nest(4, 8, 3);
  REQUIRE(verify(kernel).ok());
  CHECK(test::golden_problem("loop_kernel_matmul.txt", to_text(kernel)) == "");
}

TEST_CASE("a padded access prints its fill, and a gathered one its dynamic dim") {
  LoopKernelBuilder nest("window");
  const AffineIndex o = nest.parallel("o", 4);
  BodyBuilder& b = nest.epilogue();
  const OperandId x = nest.operand("x", {DType::kF32, {6}}), t = nest.operand("t", {DType::kF16, {6, 4}});
  const BodyValue row = b.check_index(b.constant_int(DType::kI64, 3), b.constant_int(DType::kI64, 6));
  const BodyValue padded = nest.load(b, x, {o * 2 - 1}, {.fill = Scalar::of(0.0f)});
  const BodyValue gathered = nest.load(b, t, {AffineIndex{}, o}, {.gather_index = row});
  nest.store("y", {DType::kF32, {4}}, {o}, b.add(padded, gathered));
  const std::string text = to_text(nest.finish().value());
  CHECK(text.find("  load 0 operand 0 [2*d0 + -1] else 0 : f32\n") != std::string::npos);
  CHECK(text.find("  load 1 operand 1 [0 + dynamic, d0]\n") != std::string::npos);
}

TEST_CASE("a kernel's kind follows from its structure") {
  CHECK(classify(matmul_nest(4, 8, 3)) == LoopKind::kContract);
  CHECK(classify(unary_nest("neg", DType::kF32, DType::kF32, {4}, [](auto& b, auto x) { return b.neg(x); })) ==
        LoopKind::kMap);

  LoopKernel maximum = matmul_nest(4, 8, 3);
  maximum.reductions[0].kind = ReductionKind::kMax;
  CHECK(classify(maximum) == LoopKind::kReduce);

  LoopKernel padded = matmul_nest(4, 8, 3);
  padded.loads[0].fill = Scalar::of<float>(0);
  CHECK(classify(padded) == LoopKind::kReduce);
}

}  // namespace
}  // namespace millrace
