// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/loop_kernel_builder.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

/// The header's example.
Result<LoopKernel> weigh_rows(const SizeExpr& rows, const SizeExpr& columns) {
  LoopKernelBuilder kernel("weigh_rows");
  const AffineIndex m = kernel.parallel("m", rows), n = kernel.reduction("n", columns);
  const OperandId x = kernel.operand("x", {DType::kF32, {rows, columns}});
  const OperandId w = kernel.operand("w", {DType::kF32, {columns}});
  BodyBuilder& term = kernel.term();
  const BodyValue element = kernel.load(term, x, {m, n});
  const BodyValue sum = kernel.reduce(ReductionKind::kSum, term.mul(element, kernel.load(term, w, {n})));
  BodyBuilder& epilogue = kernel.epilogue();
  kernel.store("y", {DType::kF32, {rows}}, {m}, epilogue.max(sum, epilogue.constant_like(sum, 0)));
  return kernel.finish();
}

TEST_CASE("a built kernel has and computes what the calls describe") {
  CHECK(to_text(weigh_rows(Dim("rows"), 3).value()) == R"(loop_kernel "weigh_rows" contract {
  symbol rows
  d0 m parallel rows
  d1 n reduction 3
  operand 0 %x f32[rows, 3] offset 0 strides [3, 1]
  operand 1 %w f32[3] offset 0 strides [1]
  result 0 %y f32[rows] offset 0 strides [1]
  load 0 operand 0 [d0, d1]
  load 1 operand 1 [d1]
  store 0 result 0 [d0]
  reduction 0 sum f32
  term
    %0 = load 0 : f32
    %1 = load 1 : f32
    %2 = mul %0, %1 : f32
    yield %2
  epilogue
    %0 = reduced 0 : f32
    %1 = constant 0 : f32
    %2 = max %0, %1 : f32
    yield %2
}
)");
  float x[] = {1, 2, 3, -4, 5, -6}, w[] = {10, 100, 1000}, y[2];
  void* const data[] = {x, w, y};
  REQUIRE(evaluate_loop_kernel(weigh_rows(2, 3).value(), data, {}).ok());
  CHECK(y[0] == 3210);
  CHECK(y[1] == 0);
}

TEST_CASE("indices are arithmetic on dims, wherever those were added") {
  LoopKernelBuilder kernel("windows");
  const AffineIndex i = kernel.parallel("i", 4);
  const OperandId x = kernel.operand({"x", {DType::kI32, {10}}, {5, {2}}});
  BodyBuilder& b = kernel.epilogue();
  const BodyValue first = kernel.load(b, x, {AffineIndex{} + 9});
  const AffineIndex j = kernel.parallel("j", 3);
  const BodyValue other = kernel.load(b, x, {i * 2 + j - 1}, {.fill = Scalar::of(7)});
  const BodyValue sum = b.add(first, other);
  const BodyValue place = b.convert(DType::kI32, kernel.index(b, i * 3 + j + Dim("n")));
  kernel.store({"y", {DType::kI32, {4, 3}}, {0, {1, 4}}}, {i, j}, b.add(sum, place));
  CHECK(to_text(kernel.finish().value()) == R"(loop_kernel "windows" map {
  symbol n
  d0 i parallel 4
  d1 j parallel 3
  operand 0 %x i32[10] offset 5 strides [2]
  result 0 %y i32[4x3] offset 0 strides [1, 4]
  load 0 operand 0 [9]
  load 1 operand 0 [2*d0 + d1 + -1] else 7 : i32
  store 0 result 0 [d0, d1]
  extent 0 n
  epilogue
    %0 = load 0 : i32
    %1 = load 1 : i32
    %2 = add %0, %1 : i32
    %3 = index 0 : i64
    %4 = constant 3 : i64
    %5 = mul %3, %4 : i64
    %6 = index 1 : i64
    %7 = add %5, %6 : i64
    %8 = extent 0 : i64
    %9 = add %7, %8 : i64
    %10 = convert %9 : i32
    %11 = add %2, %10 : i32
    yield %11
}
)");
}

TEST_CASE("equal loads share one access") {
  LoopKernelBuilder kernel("square");
  const AffineIndex i = kernel.parallel("i", 4);
  const OperandId x = kernel.operand("x", {DType::kF16, {4}});
  BodyBuilder& b = kernel.epilogue();
  const BodyValue left = kernel.load(b, x, {i}), right = kernel.load(b, x, {i});
  kernel.store("y", {DType::kF16, {4}}, {i}, b.mul(left, right));
  const LoopKernel built = kernel.finish().value();
  CHECK(built.loads.size() == 1);
  CHECK(to_text(built.epilogue) == "%0 = load 0 : f32\n%1 = load 0 : f32\n%2 = mul %0, %1 : f32\nyield %2\n");
}

/// The message for a map of 4 elements that is built wrongly.
template <class F>
std::string message_of(F&& build) {
  LoopKernelBuilder kernel("wrong");
  const AffineIndex i = kernel.parallel("i", 4);
  const OperandId x = kernel.operand("x", {DType::kF32, {4}});
  build(kernel, i, x);
  return kernel.finish().status().message();
}

TEST_CASE("finish() names the first wrong call") {
  const TensorType type{DType::kF32, {4}};
  CHECK(message_of([&](LoopKernelBuilder& k, const AffineIndex& i, OperandId) {
          k.store("y", type, {i}, k.load(k.epilogue(), OperandId{3}, {i}));
        }) == "loop kernel 'wrong': load: operand 3, expected less than 1; use an id from operand() of this builder");
  CHECK(message_of([&](LoopKernelBuilder& k, const AffineIndex& i, OperandId x) {
          BodyBuilder own;
          k.store("y", type, {i}, k.load(own, x, {i}));
        }) == "loop kernel 'wrong': load 'x': into another body, expected term() or epilogue() of this builder");
  CHECK(message_of([&](LoopKernelBuilder& k, const AffineIndex& i, OperandId x) {
          const BodyValue index = k.epilogue().constant_int(DType::kI32, 1);
          k.store("y", type, {i}, k.load(k.epilogue(), x, {i}, {.gather_index = index}));
        }) == "loop kernel 'wrong': load 'x': gather index is i32, expected an i64 of the same body; convert it");
  CHECK(message_of([&](LoopKernelBuilder& k, const AffineIndex& i, OperandId x) {
          const BodyValue element = k.load(k.epilogue(), x, {i});
          k.store("y", type, {i}, k.reduce(ReductionKind::kSum, element));
        }) == "loop kernel 'wrong': reduce sum: expected a value of the term; load() it into term()");
  CHECK(message_of([&](LoopKernelBuilder& k, const AffineIndex& i, OperandId x) {
          k.store("y", type, {i}, k.load(k.term(), x, {i}));
        }) == "loop kernel 'wrong': store 'y': expected a value of the epilogue; reduce() gives one");
  CHECK(message_of([&](LoopKernelBuilder& k, const AffineIndex& i, OperandId x) {
          const BodyValue element = k.load(k.epilogue(), x, {i});
          k.store("y", type, {i}, k.epilogue().add(element, k.index(k.epilogue(), i)));
        }) ==
        "loop kernel 'wrong': the epilogue computes add(f32, i64) : f32, which is not supported; "
        "cast the operands, or convert in the body");
}

TEST_CASE("finish() verifies") {
  const TensorType type{DType::kF32, {4}};
  CHECK(message_of([&](LoopKernelBuilder& k, const AffineIndex& i, OperandId x) {
          k.reduction("k", 2);
          k.parallel("j", 1);
          k.store("y", type, {i}, k.load(k.epilogue(), x, {i + 1}));
        }) ==
        "loop kernel 'wrong': dim 2 is parallel, expected reduction dims after all parallel ones\n"
        "loop kernel 'wrong': load 0: index 0 runs from 1 to 4, expected inside [0, 4); give it a fill\n"
        "loop kernel 'wrong': 2 reduction dims but no pass");
  CHECK(message_of([&](LoopKernelBuilder& k, const AffineIndex& i, OperandId x) {
          k.store("y", {DType::kI64, {4}}, {i}, k.load(k.epilogue(), x, {i}));
        }) == "loop kernel 'wrong': epilogue: yield 0 is f32, expected i64");
  LoopKernelBuilder other("other");
  other.parallel("i", 4);
  const AffineIndex j = other.parallel("j", 4);
  CHECK(message_of([&](LoopKernelBuilder& k, const AffineIndex& i, OperandId x) {
          k.store("y", type, {i}, k.load(k.epilogue(), x, {j}));
        }) == "loop kernel 'wrong': load 0: index 0 has 2 coefficients, expected 1, one per domain dim");
}

}  // namespace
}  // namespace millrace
