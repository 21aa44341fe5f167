// SPDX-License-Identifier: Apache-2.0
// Calls that reductions, contractions and windows refuse.
#include <limits>

#include <doctest/doctest.h>

#include "tests/graph/misuse.h"

namespace millrace {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

constexpr Misuse kReductions[] = {
    {"an axis above the last", [](GraphBuilder& g) { reduce_sum(f32(g, {4, 8}), {1, 2}); },
     "%1 = reduce_sum: axes[1] is 2, expected -2 to 1 for operand 0, f32[4x8]; choose one of its axes"},
    {"an axis below the first", [](GraphBuilder& g) { reduce_max(f32(g, {4, 8}), {-3}); },
     "%1 = reduce_max: axes[0] is -3, expected -2 to 1 for operand 0, f32[4x8]; choose one of its axes"},
    {"the minimum axis", [](GraphBuilder& g) { reduce_min(f32(g, {4, 8}), {kMin}); },
     "%1 = reduce_min: axes[0] is -9223372036854775808, expected -2 to 1 for operand 0, f32[4x8]; choose one of its "
     "axes"},
    {"an axis twice", [](GraphBuilder& g) { reduce_prod(f32(g, {4, 8}), {0, -2}); },
     "%1 = reduce_prod: axes[1] is -2, which is already named; name each axis once"},
    {"no axis", [](GraphBuilder& g) { reduce_sum(f32(g, {4, 8}), {}); },
     "%1 = reduce_sum: axes is [], expected axes of operand 0, f32[4x8]; name at least one"},
    {"a scalar", [](GraphBuilder& g) { reduce_sum(f32(g, {}), {0}); },
     "%1 = reduce_sum: axes[0] is 0, but operand 0 is f32[], which has no axes; reshape it"},
    {"the mean of integers", [](GraphBuilder& g) { reduce_mean(i32(g, {4}), {0}); },
     "%1 = reduce_mean: operand 0 is i32[4], expected a float; insert a cast"},
    {"the sum of bools", [](GraphBuilder& g) { reduce_sum(flag(g, {4}), {0}); },
     "%1 = reduce_sum: operand 0 is bool[4], expected an integer or a float; insert a cast"},
    {"argmax along no axis", [](GraphBuilder& g) { argmax(f32(g, {4}), 1); },
     "%1 = argmax: axis is 1, expected -1 to 0 for operand 0, f32[4]; choose one of its axes"},
    {"argmax of nothing", [](GraphBuilder& g) { argmax(f32(g, {4, 0}), 1); },
     "%1 = argmax: axis 1 of operand 0, f32[4x0], has extent 0, expected 1 or more, as the maximum of no elements is "
     "undefined; give it an element"},
    {"argmin of nothing", [](GraphBuilder& g) { argmin(f32(g, {4, 0}), 1); },
     "%1 = argmin: axis 1 of operand 0, f32[4x0], has extent 0, expected 1 or more, as the minimum of no elements is "
     "undefined; give it an element"},
    {"any of numbers", [](GraphBuilder& g) { reduce_any(f32(g, {4}), {0}); },
     "%1 = reduce_any: operand 0 is f32[4], expected bool; insert a cast"},
    {"softmax along no axis", [](GraphBuilder& g) { softmax(f32(g, {4}), 3); },
     "softmax: axis is 3, expected -1 to 0 for operand 0, f32[4]; choose one of these"},
};

Tensor y(GraphBuilder& g, Shape shape, DType dtype = DType::kF32) { return g.input("y", dtype, std::move(shape)); }

constexpr Misuse kDots[] = {
    {"dot_i32 of floats", [](GraphBuilder& g) { dot_i32(f32(g, {4}), y(g, {4}, DType::kI8), {}); },
     "%2 = dot_i32: operand 0 is f32[4], expected i8 or u8; insert a cast"},
    {"dtypes differ", [](GraphBuilder& g) { matmul(f32(g, {4, 8}), y(g, {8, 4}, DType::kF64)); },
     "matmul: operand 1 is f64[8x4], expected f32 like operand 0; insert a cast"},
    {"bools", [](GraphBuilder& g) { matmul(flag(g, {4, 8}), y(g, {8, 4})); },
     "matmul: operand 0 is bool[4x8], expected an integer or a float; insert a cast"},
    {"extents differ", [](GraphBuilder& g) { matmul(f32(g, {4, 8}), y(g, {4, 8})); },
     "matmul: operand 1 is f32[4x8], expected extent 8 in dim 0 like dim 1 of operand 0, f32[4x8]; transpose or "
     "reshape one of them"},
    {"batches differ", [](GraphBuilder& g) { matmul(f32(g, {2, 4, 8}), y(g, {3, 8, 4})); },
     "matmul: operands are f32[2x4x8] and f32[3x8x4], expected batch dims that are equal or 1, aligned at the last; "
     "reshape or broadcast one"},
    {"a scalar", [](GraphBuilder& g) { matmul(f32(g, {}), y(g, {8})); },
     "matmul: operands are f32[] and f32[8], expected at least a vector on each side; use * to multiply by a scalar"},
    {"batch dims without a partner", [](GraphBuilder& g) { dot(f32(g, {4, 8}), y(g, {8, 4}), {{0}, {}, {1}, {0}}); },
     "%2 = dot: x_batch has 1 dims and y_batch has 0, expected equal counts; pair the dims in order"},
    {"contracted dims without a partner", [](GraphBuilder& g) { dot(f32(g, {4, 8}), y(g, {8, 4}), {{}, {}, {1}, {}}); },
     "%2 = dot: x_contract has 1 dims and y_contract has 0, expected equal counts; pair the dims in order"},
    {"a dim in both roles", [](GraphBuilder& g) { dot(f32(g, {4, 8}), y(g, {8, 4}), {{1}, {0}, {1}, {0}}); },
     "%2 = dot: axis 1 of operand 0 is in x_batch and in x_contract, expected in one; remove it from the other"},
    {"an axis that there is not", [](GraphBuilder& g) { dot(f32(g, {4, 8}), y(g, {8, 4}), {{}, {}, {1}, {2}}); },
     "%2 = dot: y_contract[0] is 2, expected -2 to 1 for operand 1, f32[8x4]; choose one of its axes"},
    {"an axis twice", [](GraphBuilder& g) { dot(f32(g, {8, 8}), y(g, {8, 8}), {{}, {}, {1, -1}, {0, 1}}); },
     "%2 = dot: x_contract[1] is -1, which is already named; name each axis once"},
    {"a result of rank 10", [](GraphBuilder& g) { dot(f32(g, {1, 1, 1, 1, 1}), y(g, {1, 1, 1, 1, 1}), {}); },
     "%2 = dot: result 0 is f32[1x1x1x1x1x1x1x1x1x1], of rank 10, expected 8 or less; reshape it"},
    {"a result beyond 2^48 elements",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {1 << 30});
       dot(x, x, {});
     },
     "%1 = dot: result 0 is f32[1073741824x1073741824], expected fewer than 2^48 elements; divide it"},
};

Tensor image(GraphBuilder& g) { return f32(g, {1, 3, 8, 8}); }
Tensor weights(GraphBuilder& g, Shape shape, DType dtype = DType::kF32) {
  return g.input("w", dtype, std::move(shape));
}

constexpr Misuse kConvolutions[] = {
    {"an image without a batch", [](GraphBuilder& g) { conv2d(f32(g, {3, 8, 8}), weights(g, {4, 3, 3, 3})); },
     "%2 = conv2d: operand 0 is f32[3x8x8], expected rank 4 (n, c, h, w); reshape it"},
    {"weights of rank 2", [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 27})); },
     "%2 = conv2d: operand 1 is f32[4x27], expected rank 4 (o, c, kh, kw); reshape it"},
    {"other channels", [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 5, 3, 3})); },
     "%2 = conv2d: operand 1 is f32[4x5x3x3], expected 3 channels in dim 1 like operand 0, f32[1x3x8x8]; weights are "
     "o, "
     "c, kh, kw"},
    {"another dtype", [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 3}, DType::kF64)); },
     "%2 = conv2d: operand 1 is f64[4x3x3x3], expected f32 like operand 0; insert a cast"},
    {"sums in i32 of floats", [](GraphBuilder& g) { conv2d_i32(image(g), weights(g, {4, 3, 3, 3}, DType::kI8)); },
     "%2 = conv2d_i32: operand 0 is f32[1x3x8x8], expected i8 or u8; insert a cast"},
    {"one stride", [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 3}), {.strides = {1}}); },
     "%2 = conv2d: strides has 1 entry, expected 2 (h, w); give one for each"},
    {"a stride of 0", [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 3}), {.strides = {1, 0}}); },
     "%2 = conv2d: strides[1] is 0, expected 1 or more; correct it"},
    {"two paddings", [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 3}), {.padding = {1, 1}}); },
     "%2 = conv2d: padding has 2 entries, expected 4 (h low, w low, h high, w high); give one for each"},
    {"negative padding",
     [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 3}), {.padding = {0, 0, -1, 0}}); },
     "%2 = conv2d: padding[2] is -1, expected 0 or more; correct it"},
    {"endless padding",
     [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 3}), {.padding = {kMax, 0, kMax, 0}}); },
     "%2 = conv2d: result 0 is f32[1x4x9223372036854775807x6], expected fewer than 2^48 elements; divide it"},
    {"groups that do not divide the channels",
     [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 1, 3, 3}), {.groups = 2}); },
     "%2 = conv2d: operand 1 is f32[4x1x3x3], expected 1 channels in dim 1 like operand 0, f32[1x3x8x8], in 2 groups; "
     "weights are o, c, kh, kw"},
    {"groups that do not divide the filters",
     [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 1, 3, 3}), {.groups = 3}); },
     "%2 = conv2d: operand 1 is f32[4x1x3x3], expected the filters in dim 0 to be a multiple of the 3 groups; "
     "change groups"},
    {"no groups", [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 3}), {.groups = 0}); },
     "%2 = conv2d: groups is 0, expected 1 or more; correct it"},
    {"a dilation of 0", [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 3}), {.dilations = {1, 0}}); },
     "%2 = conv2d: dilations[1] is 0, expected 1 or more; correct it"},
    {"a dilated window larger than the image",
     [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 3}), {.dilations = {4, 1}}); },
     "%2 = conv2d: operand 0 is f32[1x3x8x8], with 0 + 0 rows of padding, expected at least 9 for the window; pad it "
     "or "
     "shrink the window"},
    {"a window larger than the image", [](GraphBuilder& g) { conv2d(image(g), weights(g, {4, 3, 3, 9})); },
     "%2 = conv2d: operand 0 is f32[1x3x8x8], with 0 + 0 columns of padding, expected at least 9 for the window; pad "
     "it "
     "or shrink the window"},
};

constexpr Misuse kPools[] = {
    {"an image without a batch", [](GraphBuilder& g) { max_pool2d(f32(g, {3, 8, 8})); },
     "%1 = max_pool2d: operand 0 is f32[3x8x8], expected rank 4 (n, c, h, w); reshape it"},
    {"the mean of integers", [](GraphBuilder& g) { avg_pool2d(i32(g, {1, 3, 8, 8})); },
     "%1 = avg_pool2d: operand 0 is i32[1x3x8x8], expected a float; insert a cast"},
    {"a window of three", [](GraphBuilder& g) { max_pool2d(image(g), {.window = {2, 2, 2}}); },
     "%1 = max_pool2d: window has 3 entries, expected 2 (h, w); give one for each"},
    {"an empty window", [](GraphBuilder& g) { max_pool2d(image(g), {.window = {0, 2}}); },
     "%1 = max_pool2d: window[0] is 0, expected 1 or more; correct it"},
    {"a stride backwards", [](GraphBuilder& g) { max_pool2d(image(g), {.strides = {-1, 2}}); },
     "%1 = max_pool2d: strides[0] is -1, expected 1 or more; correct it"},
    {"a window in the padding alone", [](GraphBuilder& g) { avg_pool2d(image(g), {.padding = {0, 2, 0, 0}}); },
     "%1 = avg_pool2d: padding[1] is 2, expected less than window[1], 2; shrink it"},
    {"a window larger than the image", [](GraphBuilder& g) { max_pool2d(image(g), {.window = {9, 2}}); },
     "%1 = max_pool2d: operand 0 is f32[1x3x8x8], with 0 + 0 rows of padding, expected at least 9 for the window; pad "
     "it or shrink the window"},
};

TEST_CASE("reductions refuse axes and dtypes that they do not have") { expect_refused(kReductions); }
TEST_CASE("dot refuses dims that do not pair") { expect_refused(kDots); }
TEST_CASE("conv2d refuses operands that do not form a convolution") { expect_refused(kConvolutions); }
TEST_CASE("pools refuse windows that they cannot walk") { expect_refused(kPools); }

}  // namespace
}  // namespace millrace
