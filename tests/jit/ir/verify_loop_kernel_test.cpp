// SPDX-License-Identifier: Apache-2.0
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

BodyInstruction& term_instruction(LoopKernel& kernel, std::uint32_t number) {
  return kernel.term.instructions[static_cast<BodyValueId>(number)];
}

TEST_CASE("verify names the broken rule of a domain, a tensor, an access") {
  CHECK(message_after([](LoopKernel& k) { k.domain[0].is_reduction = true; }) ==
        "loop kernel 'matmul': dim 1 is parallel, expected reduction dims after all parallel ones\n"
        "loop kernel 'matmul': store 0: walks a reduction dim, expected parallel dims only");
  CHECK(message_after([](LoopKernel& k) { k.operands[0].layout.strides.pop_back(); }) ==
        "loop kernel 'matmul': operand 0: 1 strides, expected 2 like f32[4x3]");
  CHECK(message_after([](LoopKernel& k) { k.loads[0].tensor = 7; }) ==
        "loop kernel 'matmul': load 0: tensor 7, expected less than 2");
  CHECK(message_after([](LoopKernel& k) { k.loads[0].indices.pop_back(); }) ==
        "loop kernel 'matmul': load 0: 1 indices, expected 2 like f32[4x3]");
  CHECK(message_after([](LoopKernel& k) { k.loads[1].indices[0].coefficients.pop_back(); }) ==
        "loop kernel 'matmul': load 1: index 0 has 2 coefficients, expected 3, one per domain dim");
  CHECK(message_after([](LoopKernel& k) { k.loads[0].indices[0].offset = -1; }) ==
        "loop kernel 'matmul': load 0: index 0 runs from -1 to 2, expected inside [0, 4); give it a fill");
  CHECK(message_after([](LoopKernel& k) { k.loads[0].dynamic_dim = 2; }) ==
        "loop kernel 'matmul': load 0: dynamic dim 2, expected less than 2");
  CHECK(message_after([](LoopKernel& k) { k.loads[0].fill = Scalar::of<double>(0); }) ==
        "loop kernel 'matmul': load 0: fill is f64, expected f32");
  CHECK(message_after([](LoopKernel& k) { k.stores.clear(); }) ==
        "loop kernel 'matmul': 0 stores, expected one for each of 1 results");
  CHECK(message_after([](LoopKernel& k) { k.stores[0].fill = Scalar::of<float>(0); }) ==
        "loop kernel 'matmul': store 0: has a dynamic dim or a fill, expected neither");
  CHECK(message_after([](LoopKernel& k) { k.stores[0].indices[1] = k.stores[0].indices[0]; }) ==
        "loop kernel 'matmul': store 0: does not walk d1, so its points overwrite each other");
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
        "loop kernel 'next': operand 1 in the result's buffer is f32[3], expected f32[2x3] and one layout\n"
        "loop kernel 'next': load 1: operand 1 in the result's buffer is read elsewhere than the result is stored");
  CHECK(message_of([](LoopKernel& k) { k.loads[0].fill = Scalar::of<float>(0); }) ==
        "loop kernel 'next': load 0: operand 0 in the result's buffer is read elsewhere than the result is stored");
  CHECK(message_of([](LoopKernel& k) { k.operands[0].layout.offset = 1; }) ==
        "loop kernel 'next': operand 0 in the result's buffer is f32[2x3], expected f32[2x3] and one layout");
  CHECK(message_after([](LoopKernel& k) { k.in_place = 0; }) ==
        "loop kernel 'matmul': in place with 1 reductions and 1 results, expected a map with one result");
}

TEST_CASE("verify names the broken rule of a reduction") {
  CHECK(message_after([](LoopKernel& k) { k.reductions[0].dtype = DType::kF16; }) ==
        "loop kernel 'matmul': reduction 0: accumulates in f16, expected an integer, f32 or f64");
  CHECK(message_after([](LoopKernel& k) { k.reductions.clear(); }) ==
        "loop kernel 'matmul': 1 reduction dims but no reduction");
  CHECK(message_after([](LoopKernel& k) { k.reductions[0].dtype = DType::kF64; }) ==
        "loop kernel 'matmul': term: yield 0 is f32, expected f64");

  LoopKernelBuilder nest("argmax");
  const AffineIndex a = nest.reduction("a", 2), b = nest.reduction("b", 2);
  const BodyValue x = nest.load(nest.term(), nest.operand("x", {DType::kF32, {2, 2}}), {a, b});
  nest.store("y", {DType::kI64, {}}, {}, nest.reduce(ReductionKind::kArgMax, x));
  CHECK(nest.finish().status().message() == "loop kernel 'argmax': reduction 0: argmax over 2 dims, expected one");
}

TEST_CASE("verify names the broken rule of a body") {
  CHECK(message_after([](LoopKernel& k) { k.term.yields.clear(); }) ==
        "loop kernel 'matmul': term: 0 yields, expected 1, one per reduction");
  CHECK(message_after([](LoopKernel& k) { k.epilogue.yields[0] = BodyValueId{5}; }) ==
        "loop kernel 'matmul': epilogue: yield 0 is %5, which does not exist");
  CHECK(message_after([](LoopKernel& k) { term_instruction(k, 2).op = KernelOp::kBarrier; }) ==
        "loop kernel 'matmul': term: %2 = barrier: belongs to machine kernels only");
  CHECK(message_after([](LoopKernel& k) { term_instruction(k, 0).immediate = 9; }) ==
        "loop kernel 'matmul': term: %0 = load: load 9, expected less than 2");
  CHECK(message_after([](LoopKernel& k) { k.loads[0].dynamic_dim = 0; }) ==
        "loop kernel 'matmul': term: %0 = load: 0 operands, expected 1");
  CHECK(message_after([](LoopKernel& k) { term_instruction(k, 2).operands[1] = BodyValueId{2}; }) ==
        "loop kernel 'matmul': term: %2 = mul: operand 1 is %2, which is not defined before");
  CHECK(message_after([](LoopKernel& k) { term_instruction(k, 0).dtype = DType::kI32; }) ==
        "loop kernel 'matmul': term: %0 = load: gives i32, expected f32\n"
        "loop kernel 'matmul': term: %2 = mul: takes (i32, f32) and gives f32, which its rule does not allow");
  CHECK(message_after([](LoopKernel& k) { term_instruction(k, 2).dtype = DType::kF16; }) ==
        "loop kernel 'matmul': term: %2 = mul: takes (f32, f32) and gives f16, which its rule does not allow\n"
        "loop kernel 'matmul': term: %2 = mul: computes in f16, expected a conversion from or to it only\n"
        "loop kernel 'matmul': term: yield 0 is f16, expected f32");
  CHECK(message_after([](LoopKernel& k) { term_instruction(k, 2).op = KernelOp::kLt; }) ==
        "loop kernel 'matmul': term: %2 = lt: takes (f32, f32) and gives f32, which its rule does not allow");
  CHECK(message_after([](LoopKernel& k) {
          term_instruction(k, 2).op = KernelOp::kReduced;
          term_instruction(k, 2).num_operands = 0;
        }) == "loop kernel 'matmul': term: %2 = reduced: belongs to an epilogue only");
  CHECK(message_after([](LoopKernel& k) { term_instruction(k, 2).op = KernelOp::kCheckIndex; }) ==
        "loop kernel 'matmul': term: %2 = check_index: takes (f32, f32), expected i64\n"
        "loop kernel 'matmul': term: %2 = check_index: gives f32, expected i64");
  CHECK(message_after([](LoopKernel& k) { k.epilogue = k.term; }) ==
        "loop kernel 'matmul': epilogue: %0 = load: load 0 walks a reduction dim\n"
        "loop kernel 'matmul': epilogue: %1 = load: load 1 walks a reduction dim");
  CHECK(message_after([](LoopKernel& k) { k.epilogue.instructions[BodyValueId{0}].immediate = 1; }) ==
        "loop kernel 'matmul': epilogue: %0 = reduced: reduction 1, expected less than 1");
}

}  // namespace
}  // namespace millrace
