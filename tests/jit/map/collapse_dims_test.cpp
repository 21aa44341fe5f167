// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/jit/map/nest_builder.h"

namespace millrace {
namespace {

using test::NestBuilder;
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

  NestBuilder nest("bias");
  nest.parallel("n", 2).parallel("c", 3).parallel("h", 4).parallel("w", 5);
  nest.operand("x", DType::kF32, {2, 3, 4, 5}, {nest.dim(0), nest.dim(1), nest.dim(2), nest.dim(3)});
  nest.operand("bias", DType::kF32, {3}, {nest.dim(1)});
  nest.result("y", DType::kF32, {2, 3, 4, 5}, {nest.dim(0), nest.dim(1), nest.dim(2), nest.dim(3)});
  nest.epilogue([](BodyBuilder& b) {
    const BodyValue x = b.load(0, DType::kF32);
    b.yield(b.add(x, b.load(1, DType::kF32)));
  });
  CHECK(extents(collapse_dims(nest.kernel())) == std::vector<std::string>{"2", "3", "20"});
}

TEST_CASE("symbolic dims collapse where the forms agree") {
  const SizeExpr rows = Dim("rows").at_least(1);
  const LoopKernel kernel =
      unary_nest("neg", DType::kF32, DType::kF32, {rows, 8}, [](auto& b, auto x) { return b.neg(x); });
  CHECK(extents(collapse_dims(kernel)) == std::vector<std::string>{(rows * 8).to_text()});
}

TEST_CASE("a padded access keeps the dims of its guard; a needless fill goes") {
  NestBuilder nest("pad");
  nest.parallel("c", 3).parallel("h", 4).parallel("w", 6);
  nest.operand("x", DType::kF32, {3, 4, 5}, {nest.dim(0), nest.dim(1), nest.index({{2, 1}}, -1)}, Scalar::of<float>(0));
  nest.result("y", DType::kF32, {3, 4, 6}, {nest.dim(0), nest.dim(1), nest.dim(2)});
  nest.epilogue([](BodyBuilder& b) { b.yield(b.load(0, DType::kF32)); });
  const LoopKernel padded = collapse_dims(nest.kernel());
  CHECK(extents(padded) == std::vector<std::string>{"3", "4", "6"});
  CHECK(padded.loads[0].fill.has_value());

  LoopKernel inside = unary_nest("copy", DType::kF32, DType::kF32, {4, 5}, [](auto&, auto x) { return x; });
  inside.loads[0].fill = Scalar::of<float>(0);
  const LoopKernel plain = collapse_dims(inside);
  CHECK(extents(plain) == std::vector<std::string>{"20"});
  CHECK_FALSE(plain.loads[0].fill.has_value());
}

TEST_CASE("a dim whose index is read stays, and the index of a dropped unit dim is 0") {
  NestBuilder nest("iota");
  nest.parallel("u", 1).parallel("m", 2).parallel("n", 3);
  nest.result("y", DType::kI64, {1, 2, 3}, {nest.dim(0), nest.dim(1), nest.dim(2)});
  nest.epilogue([](BodyBuilder& b) {
    const BodyValue unit = b.index(0);
    b.yield(b.add(unit, b.index(2)));
  });
  const LoopKernel collapsed = collapse_dims(nest.kernel());
  REQUIRE(verify(collapsed).message() == "");
  CHECK(extents(collapsed) == std::vector<std::string>{"2", "3"});
  CHECK(to_text(collapsed.epilogue) == "%0 = constant 0 : i64\n%1 = index 1 : i64\n%2 = add %0, %1 : i64\nyield %2\n");
}

}  // namespace
}  // namespace millrace
