// SPDX-License-Identifier: Apache-2.0
// The complete messages of infer_types about wrong operands and attributes.
#include <array>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/ops/op_def.h"

using namespace millrace;

namespace {

constexpr DType kF32 = DType::kF32, kF64 = DType::kF64, kI32 = DType::kI32, kI64 = DType::kI64, kBool = DType::kBool;

struct WrongNode {
  Op op;
  std::vector<TensorType> operands;
  Attributes attributes;
  std::string message;
};

void check_messages(const std::vector<WrongNode>& nodes) {
  for (const WrongNode& node : nodes) {
    const auto inferred = infer_types(node.op, node.operands, node.attributes);
    CAPTURE(to_text(node.op));
    CHECK(inferred.status().message() == node.message);
    CHECK(inferred.status().code() == StatusCode::kInvalidArgument);
  }
}

const TensorType k4x8 = {kF32, {4, 8}}, k8 = {kF32, {8}}, kScalar = {kF32, {}};

}  // namespace

TEST_CASE("operand counts, attributes, ranks and element counts are checked for every op") {
  const TensorType huge = {kF32, {1 << 20, 1 << 20, 1 << 20}};
  const TensorType deep = {kF32, Shape(std::vector<SizeExpr>(9, 1))};
  check_messages({
      {Op::add, {k8}, NoAttrs{}, "1 operand, expected 2 (x, y); pass the missing y"},
      {Op::concat, {}, AxisAttrs{}, "0 operands, expected 1 or more (x, y, ...); pass the missing x"},
      {Op::exp, {k8}, AxisAttrs{}, "attributes are AxisAttrs, expected NoAttrs; pass what exp takes"},
      {Op::exp, {deep}, NoAttrs{}, "operand 0 is f32[1x1x1x1x1x1x1x1x1], of rank 9, expected 8 or less; reshape it"},
      {Op::exp,
       {huge},
       NoAttrs{},
       "operand 0 is f32[1048576x1048576x1048576], expected fewer than 2^48 elements; divide it"},
      {Op::exp, {{kF32, {-2}}}, NoAttrs{}, "operand 0 is f32[-2], expected extents of 0 or more; correct the extent"},
      {Op::broadcast,
       {kScalar},
       BroadcastAttrs{.shape = {1 << 24, 1 << 24}},
       "result 0 is f32[16777216x16777216], expected fewer than 2^48 elements; divide it"},
      {Op::iota,
       {},
       IotaAttrs{.shape = {-1}},
       "result 0 is i64[-1], expected extents of 0 or more; correct the extent"},
  });
}

TEST_CASE("elementwise operands must agree in dtype and shape") {
  check_messages({
      {Op::add, {k4x8, k8}, NoAttrs{}, "operand 1 is f32[8], expected f32[4x8] like operand 0; insert a broadcast"},
      {Op::add, {k8, {kF64, {8}}}, NoAttrs{}, "operand 1 is f64[8], expected f32[8] like operand 0; insert a cast"},
      {Op::mul,
       {k4x8, {kI32, {8}}},
       NoAttrs{},
       "operand 1 is i32[8], expected f32[4x8] like operand 0; insert a cast and a broadcast"},
      {Op::add,
       {{kBool, {8}}, {kBool, {8}}},
       NoAttrs{},
       "operand 0 is bool[8], expected an integer or a float; insert a cast"},
      {Op::exp, {{kI32, {8}}}, NoAttrs{}, "operand 0 is i32[8], expected a float; insert a cast"},
      {Op::logical_not, {k8}, NoAttrs{}, "operand 0 is f32[8], expected bool or an integer; insert a cast"},
      {Op::less,
       {{kBool, {8}}, {kBool, {8}}},
       NoAttrs{},
       "operand 0 is bool[8], expected an integer or a float; insert a cast"},
      {Op::select, {k8, k8, k8}, NoAttrs{}, "operand 0 is f32[8], expected bool; insert a cast"},
      {Op::select,
       {{kBool, {4}}, k8, k8},
       NoAttrs{},
       "operand 1 is f32[8], expected f32[4] in the shape of operand 0; insert a broadcast"},
      {Op::select,
       {{kBool, {8}}, k8, k4x8},
       NoAttrs{},
       "operand 2 is f32[4x8], expected f32[8] like operand 1; insert a broadcast"},
  });
}

TEST_CASE("bit_cast keeps the size of elements, and takes no bool") {
  const auto message = [](std::string_view from, std::string_view to) {
    return fmt::format(
        "operand 0 is {} and dtype {}, expected dtypes of one size, neither of them bool; choose another, or insert a "
        "cast",
        from, to);
  };
  check_messages({
      {Op::bit_cast, {k8}, CastAttrs{kF64}, message("f32[8]", "f64")},
      {Op::bit_cast, {{kF64, {8}}}, CastAttrs{kI32}, message("f64[8]", "i32")},
      {Op::bit_cast, {{DType::kF16, {2}}}, CastAttrs{DType::kI8}, message("f16[2]", "i8")},
      {Op::bit_cast, {{kBool, {8}}}, CastAttrs{DType::kU8}, message("bool[8]", "u8")},
      {Op::bit_cast, {{DType::kU8, {8}}}, CastAttrs{kBool}, message("u8[8]", "bool")},
      {Op::bit_cast, {{kBool, {8}}}, CastAttrs{kBool}, message("bool[8]", "bool")},
  });
}

TEST_CASE("constraints that only a run can check are left to it") {
  const SizeExpr n = Dim("n"), k = Dim("k").at_most(64);
  const TensorType x = {kF32, {n}};
  const auto requirements = [](Op op, const TensorType& operand, Attributes attributes) {
    std::string text;
    const auto inferred = infer_types(op, std::vector{operand}, attributes);
    for (const SizeRequirement& needed : inferred->requirements) {
      text += needed.small.to_text() + " <= " + needed.large.to_text() + "; ";
    }
    return text;
  };
  CHECK(requirements(Op::topk, x, TopKAttrs{.k = k}) == "k <= n; ");
  CHECK(requirements(Op::topk, {kF32, {64}}, TopKAttrs{.k = k}) == "");
  CHECK(requirements(Op::argmax, x, ArgAttrs{0}) == "1 <= n; ");
  CHECK(requirements(Op::slice, x, SliceAttrs{{k}, {n}, {1}}) == "k <= n; ");
  CHECK(requirements(Op::reshape, x, ShapeAttrs{{floor_div(n, 4), 4}}) ==
        "n <= 4*floor_div(n, 4); 4*floor_div(n, 4) <= n; ");
  CHECK(requirements(Op::reshape, {kF32, {Dim("m").multiple_of(4)}},
                     ShapeAttrs{{floor_div(Dim("m").multiple_of(4), 4), 4}}) == "");
  CHECK(requirements(Op::reshape, {kF32, {n - 5, n - 6}}, ShapeAttrs{{(n - 5) * (n - 6)}}) == "0 <= n*n - 11*n + 30; ");
  CHECK(
      requirements(Op::reshape, {kF32, {6}}, ShapeAttrs{{n - 5, n - 6}}).starts_with("0 <= n - 5; 0 <= n - 6; 6 <= "));
  CHECK(requirements(Op::broadcast, x, BroadcastAttrs{{n - 5, n}, {1}}) == "0 <= n - 5; ");
  const auto counted = infer_types(Op::iota, {}, IotaAttrs{.shape = {n - 5, n}, .dtype = DType::kI32});
  REQUIRE(counted->requirements.size() == 1);
  CHECK(counted->requirements[0].large == n - 5);
  CHECK(requirements(Op::max_pool2d, {kF32, {1, 1, n, 8}}, Pool2dAttrs{}) == "2 <= n; ");
  CHECK(requirements(Op::max_pool2d, {kF32, {1, 1, n, 8}}, Pool2dAttrs{.ceil_mode = true}) == "2 <= n; ");
  CHECK(requirements(Op::pad, x, PadAttrs{{k - 8}, {0}, 0}) == "0 <= k - 8; ");
}

TEST_CASE("symbolic extents agree if their forms do") {
  const SizeExpr rows = Dim("rows").at_least(1);
  const TensorType x = {kF32, {rows, 8}};
  CHECK(infer_types(Op::add, std::vector{x, x}, NoAttrs{})->results == std::vector{x});
  CHECK(infer_types(Op::reshape, std::vector{x}, ShapeAttrs{{rows * 8}})->results ==
        std::vector{TensorType{kF32, {rows * 8}}});
  CHECK(infer_types(Op::concat, std::vector{x, x}, AxisAttrs{0})->results ==
        std::vector{TensorType{kF32, {rows * 2, 8}}});
  check_messages({
      {Op::add,
       {x, k4x8},
       NoAttrs{},
       "operand 1 is f32[4x8], expected f32[rows, 8] like operand 0; insert a broadcast"},
  });
}

TEST_CASE("axes must be axes of the operand, and named once") {
  check_messages({
      {Op::reduce_sum,
       {k4x8},
       ReduceAttrs{{2}},
       "axes[0] is 2, expected -2 to 1 for operand 0, f32[4x8]; choose one of its axes"},
      {Op::reduce_sum, {k4x8}, ReduceAttrs{{1, -1}}, "axes[1] is -1, which is already named; name each axis once"},
      {Op::reduce_max, {k4x8}, ReduceAttrs{}, "axes is [], expected axes of operand 0, f32[4x8]; name at least one"},
      {Op::reduce_mean, {{kI32, {8}}}, ReduceAttrs{{0}}, "operand 0 is i32[8], expected a float; insert a cast"},
      {Op::argmax, {kScalar}, ArgAttrs{0}, "axis is 0, but operand 0 is f32[], which has no axes; reshape it"},
      {Op::argmax,
       {{kF32, {3, 0}}},
       ArgAttrs{1},
       "axis 1 of operand 0, f32[3x0], has extent 0, expected 1 or more, as the maximum of no elements is undefined; "
       "give "
       "it an element"},
      {Op::sort,
       {k8},
       SortAttrs{.axis = 1},
       "axis is 1, expected -1 to 0 for operand 0, f32[8]; choose one of its axes"},
      {Op::topk,
       {k4x8},
       TopKAttrs{.k = 9},
       "k is 9, expected 0 to 8, the extent of axis 1 of operand 0, f32[4x8]; lower it"},
      {Op::topk,
       {k4x8},
       TopKAttrs{.k = -1},
       "k is -1, expected 0 to 8, the extent of axis 1 of operand 0, f32[4x8]; raise it"},
      {Op::gather, {k4x8, k8}, GatherAttrs{0}, "operand 1 is f32[8], expected i32 or i64; insert a cast"},
      {Op::take_along_axis, {k8, k8}, GatherAttrs{0}, "operand 1 is f32[8], expected i32 or i64; insert a cast"},
      {Op::take_along_axis,
       {k4x8, {kI64, {4, 8}}},
       GatherAttrs{2},
       "axis is 2, expected -2 to 1 for operand 0, f32[4x8]; choose one of its axes"},
      {Op::take_along_axis,
       {k4x8, {kI32, {3, 8}}},
       GatherAttrs{1},
       "operand 1 is i32[3x8], expected the shape of operand 0, f32[4x8], except along axis 1; reshape or broadcast "
       "it"},
      {Op::take_along_axis,
       {k4x8, {kI32, {8}}},
       GatherAttrs{-1},
       "operand 1 is i32[8], expected the shape of operand 0, f32[4x8], except along axis 1; reshape or broadcast it"},
      {Op::iota,
       {},
       IotaAttrs{.shape = {3}, .axis = 1},
       "axis is 1, which is not an axis of the result, i64[3]; choose one of its axes"},
      {Op::iota,
       {},
       IotaAttrs{.shape = {3}, .dtype = kBool},
       "dtype is bool, expected an integer or a float; cast the result"},
  });
}

TEST_CASE("a dot's dims must pair") {
  const TensorType x = {kF32, {2, 4, 8}}, y = {kF32, {2, 8, 5}};
  check_messages({
      {Op::dot,
       {x, y},
       DotAttrs{{0}, {0}, {2}, {2}},
       "operand 1 is f32[2x8x5], expected extent 8 in dim 2 like dim 2 of operand 0, f32[2x4x8]; transpose or reshape "
       "one of them"},
      {Op::dot,
       {x, y},
       DotAttrs{{0}, {}, {2}, {1}},
       "x_batch has 1 dims and y_batch has 0, expected equal counts; pair the dims in order"},
      {Op::dot,
       {x, y},
       DotAttrs{{0}, {0}, {2, 1}, {1}},
       "x_contract has 2 dims and y_contract has 1, expected equal counts; pair the dims in order"},
      {Op::dot,
       {x, y},
       DotAttrs{{0}, {0}, {0}, {1}},
       "axis 0 of operand 0 is in x_batch and in x_contract, expected in one; remove it from the other"},
      {Op::dot,
       {x, y},
       DotAttrs{{0}, {0}, {2}, {3}},
       "y_contract[0] is 3, expected -3 to 2 for operand 1, f32[2x8x5]; choose one of its axes"},
      {Op::dot,
       {x, {kF64, {2, 8, 5}}},
       DotAttrs{{0}, {0}, {2}, {1}},
       "operand 1 is f64[2x8x5], expected f32 like operand 0; insert a cast"},
      {Op::dot,
       {{kBool, {2}}, {kBool, {2}}},
       DotAttrs{},
       "operand 0 is bool[2], expected an integer or a float; insert a cast"},
  });
}

TEST_CASE("conv2d_i32 takes bytes, in any mixture") {
  const TensorType x = {DType::kU8, {1, 3, 5, 6}}, w = {DType::kI8, {4, 3, 3, 3}};
  CHECK(infer_types(Op::conv2d_i32, std::array{x, w}, Conv2dAttrs{}).value().results[0].to_text() == "i32[1x4x3x4]");
  check_messages({
      {Op::conv2d_i32,
       {{kF32, {1, 3, 5, 6}}, w},
       Conv2dAttrs{},
       "operand 0 is f32[1x3x5x6], expected i8 or u8; insert a cast"},
      {Op::conv2d_i32,
       {x, {kI32, {4, 3, 3, 3}}},
       Conv2dAttrs{},
       "operand 1 is i32[4x3x3x3], expected i8 or u8; insert a cast"},
      {Op::conv2d_i32,
       {x, {DType::kI8, {4, 2, 3, 3}}},
       Conv2dAttrs{},
       "operand 1 is i8[4x2x3x3], expected 3 channels in dim 1 like operand 0, u8[1x3x5x6]; weights are o, c, kh, kw"},
  });
}

TEST_CASE("windows must fit") {
  const TensorType x = {kF32, {1, 3, 5, 6}}, w = {kF32, {4, 3, 3, 3}};
  check_messages({
      {Op::conv2d, {k4x8, w}, Conv2dAttrs{}, "operand 0 is f32[4x8], expected rank 4 (n, c, h, w); reshape it"},
      {Op::conv2d, {x, k4x8}, Conv2dAttrs{}, "operand 1 is f32[4x8], expected rank 4 (o, c, kh, kw); reshape it"},
      {Op::conv2d,
       {x, {kF32, {4, 2, 3, 3}}},
       Conv2dAttrs{},
       "operand 1 is f32[4x2x3x3], expected 3 channels in dim 1 like operand 0, f32[1x3x5x6]; weights are o, c, kh, "
       "kw"},
      {Op::conv2d,
       {x, {kF32, {4, 3, 7, 3}}},
       Conv2dAttrs{},
       "operand 0 is f32[1x3x5x6], with 0 + 0 rows of padding, expected at least 7 for the window; pad it or shrink "
       "the "
       "window"},
      {Op::conv2d, {x, w}, Conv2dAttrs{.strides = {1, 0}}, "strides[1] is 0, expected 1 or more; correct it"},
      {Op::conv2d, {x, w}, Conv2dAttrs{.strides = {1}}, "strides has 1 entry, expected 2 (h, w); give one for each"},
      {Op::conv2d,
       {x, w},
       Conv2dAttrs{.padding = {1, 1}},
       "padding has 2 entries, expected 4 (h low, w low, h high, w high); give one for each"},
      {Op::conv2d, {x, w}, Conv2dAttrs{.padding = {0, -1, 0, 0}}, "padding[1] is -1, expected 0 or more; correct it"},
      {Op::conv2d,
       {x, {kF64, {4, 3, 3, 3}}},
       Conv2dAttrs{},
       "operand 1 is f64[4x3x3x3], expected f32 like operand 0; insert a cast"},
      {Op::max_pool2d,
       {x},
       Pool2dAttrs{.padding = {2, 0, 0, 0}},
       "padding[0] is 2, expected less than window[0], 2; shrink it"},
      {Op::max_pool2d, {x}, Pool2dAttrs{.window = {2}}, "window has 1 entry, expected 2 (h, w); give one for each"},
      {Op::avg_pool2d,
       {x},
       Pool2dAttrs{.window = {6, 2}},
       "operand 0 is f32[1x3x5x6], with 0 + 0 rows of padding, expected at least 6 for the window; pad it or shrink "
       "the "
       "window"},
      {Op::avg_pool2d,
       {{kI32, {1, 1, 2, 2}}},
       Pool2dAttrs{},
       "operand 0 is i32[1x1x2x2], expected a float; insert a cast"},
  });
}

TEST_CASE("views and moves must stay inside") {
  check_messages({
      {Op::reshape,
       {k4x8},
       ShapeAttrs{{5, 7}},
       "operand 0 is f32[4x8], with 32 elements, expected 35 for shape [5x7]; correct the shape"},
      {Op::transpose,
       {k4x8},
       PermutationAttrs{{0}},
       "permutation has 1 entry, expected 2 (the dims of operand 0, f32[4x8]); give one for each"},
      {Op::transpose,
       {k4x8},
       PermutationAttrs{{0, 0}},
       "permutation[1] is 0, which is already named; name each axis once"},
      {Op::broadcast,
       {k8},
       BroadcastAttrs{{4, 9}, {1}},
       "operand 0 is f32[8], expected extent 9 or 1 in dim 0, which becomes dim 1 of f32[4x9]; correct dims or shape"},
      {Op::broadcast,
       {k4x8},
       BroadcastAttrs{{4, 8, 2}, {1, 0}},
       "operand 0 is f32[4x8], expected extent 8 or 1 in dim 0, which becomes dim 1 of f32[4x8x2]; correct dims or "
       "shape"},
      {Op::broadcast,
       {k4x8},
       BroadcastAttrs{{4, 8}, {0, 0}},
       "dims[1] is 0, expected 1 to 1, ascending, for shape [4x8]; correct it"},
      {Op::slice,
       {k8},
       SliceAttrs{{2}, {9}, {1}},
       "start[0] is 2 and stop[0] is 9, expected 0 <= start <= stop <= 8 for operand 0, f32[8]; stay inside the "
       "operand"},
      {Op::slice,
       {k8},
       SliceAttrs{{-2}, {8}, {1}},
       "start[0] is -2 and stop[0] is 8, expected 0 <= start <= stop <= 8 for operand 0, f32[8]; stay inside the "
       "operand"},
      {Op::slice, {k8}, SliceAttrs{{0}, {8}, {0}}, "step[0] is 0, expected 1 or more; correct it"},
      {Op::pad, {k8}, PadAttrs{{-1}, {0}}, "low[0] is -1 and high[0] is 0, expected 0 or more; use slice to cut"},
      {Op::pad,
       {{kI64, {8}}},
       PadAttrs{{1}, {0}, 0.5},
       "value is 0.5, expected an integer from -9223372036854775808 to 9223372036854775807, as operand 0 is i64[8]; "
       "correct it, or insert a cast"},
      {Op::pad,
       {{DType::kU8, {8}}},
       PadAttrs{{1}, {0}, -1},
       "value is -1, expected an integer from 0 to 255, as operand 0 is u8[8]; correct it, or insert a cast"},
      {Op::pad,
       {{DType::kI32, {8}}},
       PadAttrs{{1}, {0}, NAN},
       "value is nan, expected an integer from -2147483648 to 2147483647, as operand 0 is i32[8]; correct it, or "
       "insert "
       "a cast"},
      {Op::pad,
       {{DType::kBool, {8}}},
       PadAttrs{{1}, {0}, 2},
       "value is 2, expected 0 or 1, as operand 0 is bool[8]; correct it, or insert a cast"},
      {Op::pad,
       {k8},
       PadAttrs{{1}, {floor_div(Dim("n"), 0)}},
       "high has floor_div(n, 0), expected divisors of 1 or more; correct the divisor"},
      {Op::size,
       {},
       SizeAttrs{ceil_div(7, -2)},
       "size has floor_div(6, -2) + 1, expected divisors of 1 or more; correct the divisor"},
      {Op::concat,
       {k4x8, k8},
       AxisAttrs{0},
       "operand 1 is f32[8], expected f32[4x8] like operand 0, except along axis 0; reshape it"},
      {Op::concat,
       {k8, {kI64, {8}}},
       AxisAttrs{0},
       "operand 1 is i64[8], expected f32[8] like operand 0, except along axis 0; insert a cast"},
  });
}

TEST_CASE("attributes print each field by name") {
  CHECK(to_text(Attributes{NoAttrs{}}) == "");
  CHECK(to_text(Attributes{ReduceAttrs{{1, -1}, true}}) == "{axes = [1, -1], keep_dims = true}");
  CHECK(to_text(Attributes{CastAttrs{DType::kBF16}}) == "{dtype = bf16}");
  CHECK(to_text(Attributes{PadAttrs{{0, SizeExpr(Dim("n"))}, {1, 2}, 0.1}}) ==
        "{low = [0, n], high = [1, 2], value = 0.1}");
  CHECK(to_text(Attributes{TopKAttrs{.k = 3}}) == "{k = 3, axis = -1, largest = true, sorted = true}");
}
