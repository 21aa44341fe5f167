// SPDX-License-Identifier: Apache-2.0
// Calls that composites refuse.
#include <doctest/doctest.h>

#include "tests/graph/misuse.h"

namespace millrace {
namespace {

Tensor y(GraphBuilder& g, Shape shape, DType dtype = DType::kF32) { return g.input("y", dtype, std::move(shape)); }

constexpr Misuse kComposites[] = {
    {"trilu of a vector", [](GraphBuilder& g) { trilu(f32(g, {4}), true); },
     "trilu: operand is f32[4], expected rank 2 or more; reshape it"},
    {"gather_nd with more parts than axes", [](GraphBuilder& g) { gather_nd(f32(g, {4}), i32(g, {3, 2})); },
     "gather_nd: indices are i32[3x2], expected integers with 1 to 1 parts in the last dim, for operand 0, "
     "f32[4]; "
     "reshape or cast them"},
    {"resize without sizes", [](GraphBuilder& g) { resize(f32(g, {4}), {0}, {}, ResizeMode::kNearest); },
     "resize: 1 axes and 0 sizes, expected equal numbers; give one size per axis"},
    {"resize of integers", [](GraphBuilder& g) { resize(i32(g, {4}), {0}, {8}, ResizeMode::kLinear); },
     "resize: operand is i32[4], expected a float; insert a cast"},
    {"resize along no axis", [](GraphBuilder& g) { resize(f32(g, {4}), {1}, {8}, ResizeMode::kLinear); },
     "resize: axes[0] is 1, expected -1 to 0 for operand 0, f32[4]; choose one of its axes"},
    {"conv1d of an image", [](GraphBuilder& g) { conv1d(f32(g, {1, 3, 8, 8}), y(g, {4, 3, 3})); },
     "conv1d: operand 0 is f32[1x3x8x8], expected rank 3 (n, c, w); reshape it"},
    {"conv2d with a bias of other filters",
     [](GraphBuilder& g) { conv2d(f32(g, {1, 3, 8, 8}), y(g, {4, 3, 3, 3}), g.input("b", DType::kF32, {3})); },
     "conv2d: bias is f32[3], expected f32[4], one element per filter; reshape or cast it"},
    {"conv1d with a bias of another dtype",
     [](GraphBuilder& g) { conv1d(f32(g, {1, 3, 8}), y(g, {4, 3, 3}), g.input("b", DType::kF16, {4})); },
     "conv1d: bias is f16[4], expected f32[4], one element per filter; reshape or cast it"},
    {"conv2d with an empty bias", [](GraphBuilder& g) { conv2d(f32(g, {1, 3, 8, 8}), y(g, {4, 3, 3, 3}), Tensor()); },
     "conv2d: operand 2 is an empty tensor; use one that a builder returned"},
    {"quantize_linear of integers",
     [](GraphBuilder& g) {
       Tensor x = i32(g, {4});
       quantize_linear(x, x, x);
     },
     "quantize_linear: x is i32[4], scale i32[4] and zero point i32[4], expected floats of one dtype and an "
     "integer; insert a cast"},
    {"dequantize_linear of floats",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       dequantize_linear(x, x, x);
     },
     "dequantize_linear: x is f32[4], scale f32[4] and zero point f32[4], expected integers of one dtype and a "
     "float; insert a cast"},
    {"einsum of one operand too many", [](GraphBuilder& g) { einsum("i->i", std::vector{f32(g, {4}), y(g, {4})}); },
     "einsum: the equation 'i->i' has 1 terms, expected 2; write one for each operand"},
    {"einsum of more letters than dims can be",
     [](GraphBuilder& g) { einsum("abcdefgh i->a", std::vector{f32(g, {4})}); },
     "einsum: the equation 'abcdefgh i->a': found more than 8 letters in a term, expected one for each dim; write "
     "fewer"},
    {"einsum of another rank", [](GraphBuilder& g) { einsum("ij->i", std::vector{f32(g, {4})}); },
     "einsum: operand 0 is f32[4], expected rank 2 for 'ij'; write one letter for each dim, or '...' for several"},
    {"attention of unlike ranks",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4, 8});
       attention(x, y(g, {2, 4, 8}), x);
     },
     "attention: query is f32[4x8] and key is f32[2x4x8], expected equal ranks of at least 2; reshape or "
     "broadcast "
     "one"},
    {"attention with heads that do not divide",
     [](GraphBuilder& g) {
       Tensor key = y(g, {2, 5, 8});
       attention(f32(g, {3, 4, 8}), key, key);
     },
     "attention: key is f32[2x5x8] with 2 heads in dim 0, expected a divisor of the query's 3 heads; reshape or "
     "broadcast it"},
    {"rotary_embedding of an odd depth",
     [](GraphBuilder& g) {
       Tensor angles = y(g, {4, 1});
       rotary_embedding(f32(g, {4, 3}), angles, angles);
     },
     "rotary_embedding: operand is f32[4x3], expected a last dim that is even; pad it"},
    {"split by sizes that do not add up",
     [](GraphBuilder& g) { split(f32(g, {2, 8}), std::vector<SizeExpr>{3, 4}, 1); },
     "split: sizes add up to 7, expected 8, the extent of axis 1 of f32[2x8]; correct them"},
    {"split into parts that do not divide", [](GraphBuilder& g) { split_evenly(f32(g, {8}), 3, 0); },
     "split_evenly: 3 parts of axis 0 of f32[8], expected a number up to 4096 that divides its extent; split by "
     "sizes"},
    {"the use of parts that there are not",
     [](GraphBuilder& g) { g.output("y", split_evenly(f32(g, {0}), std::numeric_limits<std::int64_t>::max(), 0)[7]); },
     "split_evenly: 9223372036854775807 parts of axis 0 of f32[0], expected a number up to 4096 that divides its "
     "extent; split by sizes"},
    {"roll of a scalar", [](GraphBuilder& g) { roll(f32(g, {}), 1, 0); },
     "roll: axis is 0, but operand 0 is f32[], which has no axes; reshape it"},
    {"tile by less than nothing", [](GraphBuilder& g) { tile(f32(g, {2}), {-1}); },
     "tile: dim 0 of f32[2] is repeated -1 times, expected 0 or more; correct it"},
    {"pad_reflect by as much as there is", [](GraphBuilder& g) { pad_reflect(f32(g, {3}), {0}, {3}); },
     "pad_reflect: dim 0 of f32[3] is padded by 0 and 3, expected less than its extent on each side; pad in "
     "steps"},
    {"attention with values of another rank",
     [](GraphBuilder& g) {
       Tensor q = f32(g, {4, 8, 16});
       attention(q, q, y(g, {8, 16}));
     },
     "attention: query is f32[4x8x16] and value is f32[8x16], expected equal ranks of at least 2; reshape or broadcast "
     "one"},
    {"rotary_embedding by angles of a batch",
     [](GraphBuilder& g) {
       Tensor angles = y(g, {5, 3, 2});
       rotary_embedding(f32(g, {3, 4}), angles, angles);
     },
     "rotary_embedding: operand is f32[3x4] and an angle's cosine or sine f32[5x3x2], expected f32[3x2] or a shape "
     "that broadcasts to it; reshape or cast it"},
    {"split of a symbol without facts", [](GraphBuilder& g) { split_evenly(f32(g, {Dim("n")}), 2, 0); },
     "split_evenly: 2 parts of axis 0 of f32[n], expected a number up to 4096 that divides its extent; split by "
     "sizes"},
    {"squeeze of more than one", [](GraphBuilder& g) { squeeze(f32(g, {1, 8}), {-1}); },
     "squeeze: axis 1 of f32[1x8] has extent 8, expected 1; choose another axis"},
    {"unsqueeze at an axis that there is not", [](GraphBuilder& g) { unsqueeze(f32(g, {8}), {2}); },
     "unsqueeze: axis is 2, expected -2 to 1 for operand 0, f32[8]; choose one of these"},
    {"flip twice along one axis", [](GraphBuilder& g) { flip(f32(g, {2, 8}), {1, -1}); },
     "flip: axis -1 is named twice; name each axis once"},
    {"tile without a count", [](GraphBuilder& g) { tile(f32(g, {2, 8}), {2}); },
     "tile: 1 repeats for f32[2x8], expected one per dim; correct them"},
    {"pad_edge without a count", [](GraphBuilder& g) { pad_edge(f32(g, {2, 8}), {1, 1}, {1}); },
     "pad_edge: 2 low and 1 high counts for f32[2x8], expected one per dim; correct them"},
    {"pad_reflect by less than nothing", [](GraphBuilder& g) { pad_reflect(f32(g, {8}), {-1}, {1}); },
     "pad_reflect: dim 0 of f32[8] is padded by -1 and 1, expected 0 or more; slice it instead"},
    {"depth_to_space of too few channels", [](GraphBuilder& g) { depth_to_space(f32(g, {1, 6, 2, 2}), 2); },
     "depth_to_space: operand is f32[1x6x2x2] and block is 2, expected rank 4 (n, c, h, w) and a block whose "
     "square divides c; correct them"},
    {"space_to_depth of odd sides", [](GraphBuilder& g) { space_to_depth(f32(g, {1, 6, 3, 2}), 2); },
     "space_to_depth: operand is f32[1x6x3x2] and block is 2, expected rank 4 (n, c, h, w) and a block that "
     "divides "
     "h and w; correct them"},
    {"scatter_elements of another shape",
     [](GraphBuilder& g) {
       Tensor indices = g.input("i", DType::kI32, {3, 2});
       scatter_elements(f32(g, {2, 8}), indices, y(g, {3, 2}), 1);
     },
     "scatter_elements: indices are i32[3x2] and updates f32[3x2], expected i32 or i64 and one shape, "
     "within that of operand 0, f32[2x8], except along axis 1; reshape or cast them"},
    {"update_slice along no axis", [](GraphBuilder& g) { update_slice(f32(g, {4, 8}), y(g, {2, 8}), 2, 0); },
     "update_slice: axis is 2, expected -2 to 1 for operand 0, f32[4x8]; choose one of these"},
    {"update_slice by another shape", [](GraphBuilder& g) { update_slice(f32(g, {4, 8}), y(g, {2, 7}), 0, 0); },
     "update_slice: update is f32[2x7], expected the type of operand 0, f32[4x8], except along axis 0; reshape or "
     "cast it"},
    {"update_slice by another rank", [](GraphBuilder& g) { update_slice(f32(g, {4, 8}), y(g, {8}), 0, 0); },
     "update_slice: update is f32[8], expected the type of operand 0, f32[4x8], except along axis 0; reshape or cast "
     "it"},
    {"update_slice by another dtype", [](GraphBuilder& g) { update_slice(i32(g, {4}), y(g, {2}), -1, 0); },
     "update_slice: update is f32[2], expected the type of operand 0, i32[4], except along axis 0; reshape or cast "
     "it"},
    {"update_slice by more than there is", [](GraphBuilder& g) { update_slice(f32(g, {4, 8}), y(g, {5, 8}), 0, 0); },
     "update_slice: update is f32[5x8], expected at most 4 elements along axis 0, like operand 0, f32[4x8]; slice it"},
    {"update_slice beyond the end", [](GraphBuilder& g) { update_slice(f32(g, {4, 8}), y(g, {2, 8}), 0, 3); },
     "update_slice: start is 3 for f32[2x8] along axis 0 of operand 0, f32[4x8], expected 0 to 2, or -4 to -2 to "
     "count from the end; choose one of these"},
    {"update_slice around the end", [](GraphBuilder& g) { update_slice(f32(g, {4, 8}), y(g, {2, 8}), 0, -1); },
     "update_slice: start is -1 for f32[2x8] along axis 0 of operand 0, f32[4x8], expected 0 to 2, or -4 to -2 to "
     "count from the end; choose one of these"},
    {"update_slice before the beginning",
     [](GraphBuilder& g) { update_slice(f32(g, {4, 8}), y(g, {2, 8}), 0, std::numeric_limits<std::int64_t>::min()); },
     "update_slice: start is -9223372036854775808 for f32[2x8] along axis 0 of operand 0, f32[4x8], expected 0 to "
     "2, or -4 to -2 to count from the end; choose one of these"},
    {"update_slice beyond every end that a run may bind",
     [](GraphBuilder& g) {
       const SizeExpr n = Dim("n");
       update_slice(f32(g, {n}), y(g, {2}), 0, n - 1);
     },
     "update_slice: start is n - 1 for f32[2] along axis 0 of operand 0, f32[n], expected 0 to n - 2, or -n to -2 "
     "to count from the end; choose one of these"},
    {"update_slice from a vector", [](GraphBuilder& g) { update_slice(f32(g, {4}), y(g, {2}), 0, i32(g, {1})); },
     "update_slice: start is i32[1], expected i32[] or i64[]; reshape or cast it"},
    {"update_slice from a float",
     [](GraphBuilder& g) { update_slice(f32(g, {4}), y(g, {2}), 0, g.input("s", DType::kF32, {})); },
     "update_slice: start is f32[], expected i32[] or i64[]; reshape or cast it"},
    {"a pool of one dim of an image", [](GraphBuilder& g) { max_pool1d(f32(g, {1, 2, 4, 4})); },
     "max_pool1d: operand 0 is f32[1x2x4x4], expected rank 3 (n, c, w); reshape it"},
    {"a global pool of nothing", [](GraphBuilder& g) { global_avg_pool(f32(g, {1, 2})); },
     "global_avg_pool: operand is f32[1x2], expected dims after n and c; reshape it"},
    {"batch_norm of a vector",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       batch_norm(x, x, x, x, x);
     },
     "batch_norm: operand 0 is f32[4], expected channels in dim 1; reshape it"},
    {"instance_norm of channels that a run binds",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {1, Dim("c"), 4});
       instance_norm(x, x, x);
     },
     "instance_norm: operand is f32[1, c, 4], expected a constant number of channels in dim 1; reshape it"},
    {"random_bits of a float", [](GraphBuilder& g) { random_bits(f32(g, {}), {4}); },
     "random_bits: seed is f32[], expected u64[]; reshape or cast it"},
    {"multinomial of integers", [](GraphBuilder& g) { multinomial(i32(g, {4}), f32(g, {}), 2); },
     "multinomial: logits are i32[4] and num_samples is 2, expected floats of rank 1 or more and 0 or more "
     "samples; correct them"},
    {"attention of a depth that a run binds",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4, Dim("d")});
       attention(x, x, x);
     },
     "attention: query is f32[4, d], expected a last dim that is a number; give a scale"},
};

TEST_CASE("composites refuse operands that they cannot build from") { expect_refused(kComposites); }

}  // namespace
}  // namespace millrace
