// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

using test::unary_nest;

std::vector<std::string> extents(const LoopKernel& kernel) {
  std::vector<std::string> texts;
  for (const LoopDim& dim : kernel.domain) texts.push_back(dim.extent.to_text());
  return texts;
}

TEST_CASE("a dense map is one dim, whatever its rank and units") {
  const LoopKernel kernel =
      unary_nest("neg", DType::kF32, DType::kF32, {4, 1, 8, 2}, [](auto& b, auto x) { return b.neg(x); });
  const LoopKernel collapsed = collapse_dims(kernel);
  REQUIRE(verify(collapsed).message() == "");
  CHECK(extents(collapsed) == std::vector<std::string>{"64"});
  CHECK(collapsed.operands[0].type.to_text() == "f32[64]");
  CHECK(collapsed.loads[0].indices[0].coefficients[0].is(1));
}

TEST_CASE("a padded result keeps its rows apart, a broadcast operand its dim") {
  LoopKernel kernel = unary_nest("neg", DType::kF32, DType::kF32, {4, 8}, [](auto& b, auto x) { return b.neg(x); });
  kernel.results[0].layout = {3, {10, 1}};
  const LoopKernel padded = collapse_dims(kernel);
  REQUIRE(verify(padded).message() == "");
  CHECK(extents(padded) == std::vector<std::string>{"4", "8"});
  CHECK(padded.stores[0].indices[0].offset.is(3));
  CHECK(padded.stores[0].indices[0].coefficients[0].is(10));

  LoopKernelBuilder nest("bias");
  const TensorType images{DType::kF32, {2, 3, 4, 5}};
  const std::vector<AffineIndex> point = nest.parallel_dims(images.shape);
  BodyBuilder& b = nest.epilogue();
  const BodyValue x = nest.load(b, nest.operand("x", images), point);
  nest.store("y", images, point, b.add(x, nest.load(b, nest.operand("bias", {DType::kF32, {3}}), {point[1]})));
  CHECK(extents(collapse_dims(nest.finish().value())) == std::vector<std::string>{"2", "3", "20"});
}

TEST_CASE("symbolic dims collapse where the forms agree") {
  const SizeExpr rows = Dim("rows").at_least(1);
  const LoopKernel kernel =
      unary_nest("neg", DType::kF32, DType::kF32, {rows, 8}, [](auto& b, auto x) { return b.neg(x); });
  CHECK(extents(collapse_dims(kernel)) == std::vector<std::string>{(rows * 8).to_text()});
}

TEST_CASE("a padded access keeps the dims of its guard; a needless fill is removed") {
  LoopKernelBuilder nest("pad");
  const AffineIndex c = nest.parallel("c", 3), h = nest.parallel("h", 4), w = nest.parallel("w", 6);
  const OperandId x = nest.operand("x", {DType::kF32, {3, 4, 5}});
  nest.store("y", {DType::kF32, {3, 4, 6}}, {c, h, w},
             nest.load(nest.epilogue(), x, {c, h, w - 1}, {.fill = Scalar::of(0.0f)}));
  const LoopKernel padded = collapse_dims(nest.finish().value());
  CHECK(extents(padded) == std::vector<std::string>{"3", "4", "6"});
  CHECK(padded.loads[0].fill.has_value());

  LoopKernel inside = unary_nest("copy", DType::kF32, DType::kF32, {4, 5}, [](auto&, auto x) { return x; });
  inside.loads[0].fill = Scalar::of<float>(0);
  const LoopKernel plain = collapse_dims(inside);
  CHECK(extents(plain) == std::vector<std::string>{"20"});
  CHECK_FALSE(plain.loads[0].fill.has_value());
}

TEST_CASE("a dim whose index is read stays, and the index of a dropped unit dim is 0") {
  LoopKernelBuilder nest("iota");
  const std::vector<AffineIndex> point = nest.parallel_dims({1, 2, 3});
  nest.store("y", {DType::kI64, {1, 2, 3}}, point, nest.index(nest.epilogue(), point[0] + point[2]));
  const LoopKernel collapsed = collapse_dims(nest.finish().value());
  REQUIRE(verify(collapsed).message() == "");
  CHECK(extents(collapsed) == std::vector<std::string>{"2", "3"});
  CHECK(to_text(collapsed.epilogue) == "%0 = constant 0 : i64\n%1 = index 1 : i64\n%2 = add %0, %1 : i64\nyield %2\n");
}

}  // namespace
}  // namespace millrace
