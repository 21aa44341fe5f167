// SPDX-License-Identifier: Apache-2.0
// What an application's tests can do with its kernels.
#include "millrace/graph/testing.h"

#include <limits>

#include <doctest/doctest.h>

#include "millrace/jit/loop_kernel_builder.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using testing::Array;

/// y[m, n] = x[m, n] * 2, and the sum of each row of x.
LoopKernel doubling_kernel(const SizeExpr& rows) {
  LoopKernelBuilder k("double_it");
  const AffineIndex m = k.parallel("m", rows), n = k.reduction("n", 3);
  const OperandId in = k.operand("x", {DType::kF32, {rows, 3}});
  const BodyValue x = k.load(k.term(), in, {m, n});
  const BodyValue sum = k.reduce(ReductionKind::kSum, x);
  k.store_in_pass("y", {DType::kF32, {rows, 3}}, {m, n}, k.term().add(x, x));
  k.store("sums", {DType::kF32, {rows}}, {m}, sum);
  return k.finish().value();
}

TEST_CASE("a kernel has the same results by its definition and on devices") {
  const LoopKernel kernel = doubling_kernel(Dim("rows"));
  const testing::Array x = testing::Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  testing::compare(kernel, {{x}}, {{"cpu", "sim:gfx1100"}}).throw_if_error();
  const std::vector<Array> results = testing::evaluate(kernel, {{x}}).value();
  CHECK(results[0].elements<float>() == std::vector<float>{2, 4, 6, 8, 10, 12});
  CHECK(results[1].elements<float>() == std::vector<float>{6, 15});
  CHECK(results[1].type == TensorType{DType::kF32, {2}});
}

TEST_CASE("the first element that differs is named, with both values") {
  LoopKernelBuilder k("third");
  const AffineIndex i = k.parallel("i", 4), j = k.parallel("j", 2);
  BodyBuilder& b = k.epilogue();
  const BodyValue x = k.load(b, k.operand("x", {DType::kF32, {4, 2}}), {i, j});
  k.store("y", {DType::kF32, {4, 2}}, {i, j}, b.mul_add(x, x, b.constant(DType::kF32, -1)));
  const LoopKernel kernel = k.finish().value();
  // 1.0001^2 - 1 is rounded once with FMA, and twice without.
  const Array near_one = Array::of<float>({4, 2}, {1, 2, 3, 1.0001f, 1, 1, 1, 1});
  const std::string message = testing::compare(kernel, {{near_one}}, {{"cpu:baseline"}}).message();
  CHECK(message.starts_with("kernel 'third' on cpu:baseline: y[1, 1] is 0.0002"));
  CHECK(testing::compare(kernel, {{near_one}}, {{"cpu:baseline"}}, {.relative = 1e-3}).message() == "");
}

TEST_CASE("the machine code of a GPU and the interpreter are compared, with a context and options") {
  const LoopKernel kernel = doubling_kernel(Dim("rows"));
  const Array x = Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  CompileOptions options{.context = test::isa_context()};
  CHECK(testing::compare(kernel, {{x}}, {{"isa:gfx1100", "isa:gfx90a"}}, {}, options).message() == "");
  options.lowering.compile.force_generator = "interpreter";
  CHECK(testing::compare(kernel, {{x}}, {{"cpu:avx2"}}, {}, options).message() == "");
}

TEST_CASE("NaN equals NaN, with any tolerance") {
  LoopKernelBuilder k("limits");
  const AffineIndex i = k.parallel("i", 2);
  BodyBuilder& b = k.epilogue();
  const BodyValue x = k.load(b, k.operand("x", {DType::kF32, {2}}), {i});
  k.store("y", {DType::kF32, {2}}, {i}, b.mul_add(x, x, b.neg(b.mul(x, x))));
  const LoopKernel kernel = k.finish().value();
  // inf - inf is NaN, which equals NaN; so is the result on every target.
  const Array x_array = Array::of<float>({2}, {std::numeric_limits<float>::infinity(), 1e30f});
  CHECK(testing::compare(kernel, {{x_array}}, {{"cpu:avx2"}}, {.relative = 1}).message() == "");
}

TEST_CASE("a kernel that a graph would refuse is refused, not run") {
  LoopKernelBuilder k("beyond");
  const AffineIndex i = k.parallel("i", Dim("n"));
  const BodyValue x = k.load(k.epilogue(), k.operand("x", {DType::kF32, {Dim("n")}}), {i + 1});
  k.store("y", {DType::kF32, {Dim("n")}}, {i}, x);
  const LoopKernel kernel = k.finish().value();
  const Array array = Array::of<float>({2}, {1, 2});
  const std::string message =
      "kernel 'beyond': loop kernel 'beyond': load 0 of 'x': index d0 + 1 of dim 0 is not known to stay inside [0, n); "
      "give the load a fill, or promise facts of its symbols, such as at_least()";
  CHECK(testing::evaluate(kernel, {{array}}).status().message() == message);
  CHECK(testing::run(kernel, {{array}}, {}).status().message() == message);
}

TEST_CASE("arrays that do not fit the kernel are refused") {
  const LoopKernel kernel = doubling_kernel(Dim("rows"));
  const Array x = Array::of<float>({2, 3}, std::vector<float>(6));
  CHECK(testing::evaluate(kernel, {}).status().message() ==
        "kernel 'double_it': 0 arrays, expected 1, one per operand; pass as many");
  const Array ids = Array::of<std::int32_t>({2, 3}, std::vector<std::int32_t>(6));
  CHECK(testing::evaluate(kernel, {{ids}}).status().message() ==
        "kernel 'double_it': array 0 is i32[2x3] with 24 bytes, expected f32[rows, 3]; correct it");
  const Array short_one = Array::of<float>({2, 3}, std::vector<float>(5));
  CHECK(testing::run(kernel, {{short_one}}, {}).status().message() ==
        "kernel 'double_it': array 0 is f32[2x3] with 20 bytes, expected f32[rows, 3]; correct it");
  CHECK(testing::evaluate(doubling_kernel(SizeExpr(Dim("rows")) + 1), {{x}}).status().message() ==
        "kernel 'double_it': no operand has rows as a dim, so that it has no value; give one operand that dim");
  const Array four = Array::of<float>({2, 4}, std::vector<float>(8));
  CHECK(testing::evaluate(kernel, {{four}}).status().message() ==
        "kernel 'double_it': array 0 is f32[2x4] with 32 bytes, expected f32[rows, 3]; correct it");
}

}  // namespace
}  // namespace millrace
