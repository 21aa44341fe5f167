// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

using test::matmul_nest;
using test::unary_nest;

/// Evaluates with buffers of any element types.
template <class... Buffers>
Status evaluate_with(const LoopKernel& kernel, Buffers&... buffers) {
  REQUIRE(verify(kernel).message() == "");
  void* const data[] = {static_cast<void*>(buffers.data())...};
  return evaluate_loop_kernel(kernel, data, {});
}

std::vector<float> count_up(std::size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST_CASE("a contraction evaluates to the sum of products") {
  std::vector<float> a = count_up(4 * 3), b = count_up(3 * 8), c(4 * 8, -1.0f);
  REQUIRE(evaluate_with(matmul_nest(4, 8, 3), a, b, c).ok());
  for (int m = 0; m < 4; ++m) {
    for (int n = 0; n < 8; ++n) {
      float sum = 0;
      for (int k = 0; k < 3; ++k) sum += a[m * 3 + k] * b[k * 8 + n];
      CHECK(c[m * 8 + n] == sum);
    }
  }
}

TEST_CASE("a window over a padded row reads the fill outside") {
  LoopKernelBuilder nest("window_max");
  const AffineIndex o = nest.parallel("o", 4), w = nest.reduction("w", 3);
  const float lowest = -std::numeric_limits<float>::infinity();
  const OperandId row = nest.operand("x", {DType::kF32, {7}});
  const BodyValue element = nest.load(nest.term(), row, {o * 2 + w - 1}, {.fill = Scalar::of(lowest)});
  nest.store("y", {DType::kF32, {4}}, {o}, nest.reduce(ReductionKind::kMax, element));
  std::vector<float> x = {5, -1, 2, 8, 3, 0, -4}, y(4);
  REQUIRE(evaluate_with(nest.finish().value(), x, y).ok());
  CHECK(y == std::vector<float>{5, 8, 8, 0});
}

TEST_CASE("a bool in memory is true unless it is 0") {
  const LoopKernel kernel =
      unary_nest("number", DType::kBool, DType::kI32, {4}, [](auto& b, auto x) { return b.convert(DType::kI32, x); });
  std::vector<std::uint8_t> x = {0, 1, 2, 0xff};
  std::vector<std::int32_t> y(4);
  REQUIRE(evaluate_with(kernel, x, y).ok());
  CHECK(y == std::vector<std::int32_t>{0, 1, 1, 1});
}

TEST_CASE("16-bit floats widen when loaded and round once when stored") {
  const LoopKernel kernel = unary_nest("third", DType::kF16, DType::kBF16, {3},
                                       [](auto& b, auto x) { return b.div(x, b.constant_like(x, 3)); });
  std::vector<Half> x = {Half(1.0f), Half(2.5f), Half(-7.0f)};
  std::vector<BFloat16> y(3);
  REQUIRE(evaluate_with(kernel, x, y).ok());
  for (int i = 0; i < 3; ++i) CHECK(y[i].bits == BFloat16(static_cast<float>(x[i]) / 3.0f).bits);
}

TEST_CASE("stores honour the layout's offset and strides") {
  LoopKernel kernel = unary_nest("copy", DType::kI32, DType::kI32, {2, 3}, [](auto&, auto x) { return x; });
  kernel.results[0].layout = {5, {1, 2}};
  std::vector<std::int32_t> x = {1, 2, 3, 4, 5, 6}, y(12, -1);
  REQUIRE(evaluate_with(kernel, x, y).ok());
  CHECK(y == std::vector<std::int32_t>{-1, -1, -1, -1, -1, 1, 4, 2, 5, 3, 6, -1});
}

TEST_CASE("reductions of nothing give their identities") {
  LoopKernelBuilder nest("nothing");
  const AffineIndex m = nest.parallel("m", 2), k = nest.reduction("k", 0);
  const BodyValue element = nest.load(nest.term(), nest.operand("x", {DType::kI32, {2, 0}}), {m, k});
  for (const ReductionKind kind :
       {ReductionKind::kSum, ReductionKind::kProd, ReductionKind::kMin, ReductionKind::kMax}) {
    nest.store("y", {DType::kI32, {2}}, {m}, nest.reduce(kind, element));
  }
  std::vector<std::int32_t> x(1), sum(2), prod(2), least(2), most(2);
  REQUIRE(evaluate_with(nest.finish().value(), x, sum, prod, least, most).ok());
  using Limits = std::numeric_limits<std::int32_t>;
  CHECK(sum[1] == 0);
  CHECK(prod[1] == 1);
  CHECK(least[1] == Limits::max());
  CHECK(most[1] == Limits::lowest());
}

LoopKernel argmax_nest(std::int64_t n) {
  LoopKernelBuilder nest("argmax");
  const AffineIndex k = nest.reduction("k", n);
  const BodyValue x = nest.load(nest.term(), nest.operand("x", {DType::kF32, {n}}), {k});
  nest.store("y", {DType::kI64, {1}}, {AffineIndex{}}, nest.reduce(ReductionKind::kArgMax, x));
  return nest.finish().value();
}

TEST_CASE("argmax gives the first of equals, and NaN is greatest") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto argmax = [](std::vector<float> x) {
    std::vector<std::int64_t> y(1, -1);
    REQUIRE(evaluate_with(argmax_nest(static_cast<std::int64_t>(x.size())), x, y).ok());
    return y[0];
  };
  CHECK(argmax({1, 3, 3, 2}) == 1);
  CHECK(argmax({1, nan, infinity, nan}) == 1);
  CHECK(argmax({-infinity, -infinity}) == 0);
  CHECK(argmax({-0.0f, 0.0f}) == 0);
}

TEST_CASE("a gather index wraps once, and a bad one is reported and reads element 0") {
  LoopKernelBuilder nest("gather");
  const AffineIndex i = nest.parallel("i", 3), c = nest.parallel("c", 2);
  const OperandId rows = nest.operand("table", {DType::kF32, {4, 2}});
  BodyBuilder& b = nest.epilogue();
  const BodyValue id = nest.load(b, nest.operand("ids", {DType::kI64, {3}}), {i});
  const BodyValue checked = b.check_index(id, b.constant_int(DType::kI64, 4));
  nest.store("y", {DType::kF32, {3, 2}}, {i, c}, nest.load(b, rows, {AffineIndex{}, c}, {.gather_index = checked}));
  const LoopKernel kernel = nest.finish().value();
  std::vector<float> table = count_up(8), y(6);
  std::vector<std::int64_t> ids = {2, -1, 0};
  REQUIRE(evaluate_with(kernel, table, ids, y).ok());
  CHECK(y == std::vector<float>{5, 6, 7, 8, 1, 2});
  ids = {1, 4, -5};
  const Status status = evaluate_with(kernel, table, ids, y);
  CHECK(status.code() == StatusCode::kOutOfRange);
  CHECK(status.message() == "kernel 'gather': an index is outside its axis");
  CHECK(y == std::vector<float>{3, 4, 1, 2, 1, 2});
}

}  // namespace
}  // namespace millrace
