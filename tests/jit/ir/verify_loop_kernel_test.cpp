// SPDX-License-Identifier: Apache-2.0
// Rules of loop kernels that no text can break. More in tests/jit/kernels/verify_*.kernel.
#include <doctest/doctest.h>

#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

using test::matmul_nest;

/// The message for matmul 4x8x3 after `damage`.
template <class F>
std::string message_after(F&& damage) {
  LoopKernel kernel = matmul_nest(4, 8, 3);
  damage(kernel);
  return verify(kernel).message();
}

TEST_CASE("verify names the broken rule of an access that no text can express") {
  CHECK(message_after([](LoopKernel& k) { k.loads[1].indices[0].coefficients.pop_back(); }) ==
        "loop kernel 'matmul': load 1: index 0 has 2 coefficients, expected 3, one per domain dim");
  CHECK(message_after([](LoopKernel& k) { k.loads[0].dynamic_dim = 2; }) ==
        "loop kernel 'matmul': load 0: dynamic dim 2, expected less than 2");
}

TEST_CASE("verify names the broken rule of a map in place") {
  const auto message_of = [](auto&& damage) {
    LoopKernelBuilder nest("next");
    const std::vector<AffineIndex> point = nest.parallel_dims({2, 3});
    const OperandId x = nest.operand("x", {DType::kF32, {2, 3}}), row = nest.operand("row", {DType::kF32, {3}});
    BodyBuilder& b = nest.epilogue();
    const BodyValue old = nest.load(b, x, point), added = nest.load(b, row, {point[1]});
    nest.store("y", {DType::kF32, {2, 3}}, point, b.add(old, added));
    LoopKernel kernel = nest.finish().value();
    kernel.in_place = 0;
    damage(kernel);
    return verify(kernel).message();
  };
  CHECK(message_of([](LoopKernel&) {}) == "");
  CHECK(message_of([](LoopKernel& k) { k.in_place = 2; }) ==
        "loop kernel 'next': operand 2 in the result's buffer, expected less than 2");
  CHECK(message_of([](LoopKernel& k) { k.in_place = 1; }) ==
        "loop kernel 'next': operand 1 in the result's buffer is f32[3], expected f32[2x3] with the result's layout\n"
        "loop kernel 'next': load 1: operand 1 in the result's buffer is read at indices other than the "
        "result's");
  CHECK(message_of([](LoopKernel& k) { k.loads[0].fill = Scalar::of<float>(0); }) ==
        "loop kernel 'next': load 0: operand 0 in the result's buffer is read at indices other than the "
        "result's");
  CHECK(message_of([](LoopKernel& k) { k.operands[0].layout.offset = 1; }) ==
        "loop kernel 'next': operand 0 in the result's buffer is f32[2x3], expected f32[2x3] with the result's layout");
  CHECK(message_after([](LoopKernel& k) { k.in_place = 0; }) ==
        "loop kernel 'matmul': in place with 1 passes and 1 results, expected a map with one result");
}

}  // namespace
}  // namespace millrace
