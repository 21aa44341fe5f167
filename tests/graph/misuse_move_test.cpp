// SPDX-License-Identifier: Apache-2.0
// Calls that views, moves and orders refuse.
#include <limits>

#include <doctest/doctest.h>

#include "tests/graph/misuse.h"

namespace millrace {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

constexpr Misuse kReshapes[] = {
    {"another number of elements", [](GraphBuilder& g) { reshape(f32(g, {4, 8}), {5, 6}); },
     "%1 = reshape: operand 0 is f32[4x8], with 32 elements, expected 30 for shape [5x6]; correct the shape"},
    {"extents that are negative together", [](GraphBuilder& g) { reshape(f32(g, {4, 8}), {-4, -8}); },
     "%1 = reshape: result 0 is f32[-4x-8], expected extents of 0 or more; correct them"},
    {"an extent to be found that divides nothing", [](GraphBuilder& g) { reshape(f32(g, {4, 8}), {5, -1}); },
     "%1 = reshape: operand 0 is f32[4x8], with 32 elements, expected a multiple of 5 for shape [5x-1]; correct the "
     "shape"},
    {"an inferred extent next to symbols that cancel",
     [](GraphBuilder& g) { reshape(g.input("x", DType::kF32, {Dim("n"), 3}), {Dim("n"), 2, -1}); },
     "%1 = reshape: operand 0 is f32[n, 3], with 3*n elements, expected a multiple of 2*n for shape [n, 2, -1]; "
     "correct the shape"},
    {"rank 9", [](GraphBuilder& g) { reshape(f32(g, {1}), {1, 1, 1, 1, 1, 1, 1, 1, 1}); },
     "%1 = reshape: result 0 is f32[1x1x1x1x1x1x1x1x1], of rank 9, expected 8 or less; reshape it"},
    {"nothing, with strides beyond int64", [](GraphBuilder& g) { reshape(f32(g, {0}), {0, kMax, kMax}); },
     "%1 = reshape: result 0 is f32[0x9223372036854775807x9223372036854775807], expected fewer than 2^48 elements; "
     "divide it"},
};

constexpr Misuse kTransposes[] = {
    {"too few axes", [](GraphBuilder& g) { transpose(f32(g, {4, 8}), {0}); },
     "%1 = transpose: permutation has 1 entry, expected 2 (the dims of operand 0, f32[4x8]); give one for each"},
    {"an axis twice", [](GraphBuilder& g) { transpose(f32(g, {4, 8}), {1, 1}); },
     "%1 = transpose: permutation[1] is 1, which is named already; name each axis once"},
    {"an axis that there is not", [](GraphBuilder& g) { transpose(f32(g, {4, 8}), {0, 2}); },
     "%1 = transpose: permutation[1] is 2, expected -2 to 1 for operand 0, f32[4x8]; choose one of its axes"},
};

constexpr Misuse kBroadcasts[] = {
    {"too few dims", [](GraphBuilder& g) { broadcast(f32(g, {4, 8}), {2, 4, 8}, {1}); },
     "%1 = broadcast: dims has 1 entry, expected 2 (the dims of operand 0, f32[4x8]); give one for each"},
    {"dims that descend", [](GraphBuilder& g) { broadcast(f32(g, {4, 8}), {8, 4, 2}, {1, 0}); },
     "%1 = broadcast: dims[1] is 0, expected 2 to 2, ascending, for shape [8x4x2]; correct it"},
    {"a dim that there is not", [](GraphBuilder& g) { broadcast(f32(g, {4}), {2, 4}, {2}); },
     "%1 = broadcast: dims[0] is 2, expected 0 to 1, ascending, for shape [2x4]; correct it"},
    {"a negative dim", [](GraphBuilder& g) { broadcast(f32(g, {4}), {2, 4}, {-1}); },
     "%1 = broadcast: dims[0] is -1, expected 0 to 1, ascending, for shape [2x4]; correct it"},
    {"another extent", [](GraphBuilder& g) { broadcast(f32(g, {3}), {2, 4}, {1}); },
     "%1 = broadcast: operand 0 is f32[3], expected extent 4 or 1 in dim 0, which becomes dim 1 of f32[2x4]; correct "
     "dims or shape"},
    {"to a lower rank", [](GraphBuilder& g) { broadcast_to(f32(g, {2, 4}), {4}); },
     "broadcast_to: operand 0 is f32[2x4], expected dims that are 1 or those of shape [4], from the last one on; "
     "reshape "
     "it"},
    {"to a scalar", [](GraphBuilder& g) { broadcast_to(f32(g, {1}), {}); },
     "broadcast_to: operand 0 is f32[1], expected dims that are 1 or those of shape [], from the last one on; reshape "
     "it"},
    {"to a negative extent", [](GraphBuilder& g) { broadcast_to(f32(g, {1}), {-2, 1}); },
     "broadcast_to: the result is f32[-2x1], expected extents of 0 or more; correct them"},
};

constexpr Misuse kSlices[] = {
    {"too few starts", [](GraphBuilder& g) { slice(f32(g, {4, 8}), {0}, {4, 8}); },
     "%1 = slice: start has 1 entry, expected 2 (the dims of operand 0, f32[4x8]); give one for each"},
    {"too many stops", [](GraphBuilder& g) { slice(f32(g, {4, 8}), {0, 0}, {4, 8, 1}); },
     "%1 = slice: stop has 3 entries, expected 2 (the dims of operand 0, f32[4x8]); give one for each"},
    {"too few steps", [](GraphBuilder& g) { slice(f32(g, {4, 8}), {0, 0}, {4, 8}, {2}); },
     "%1 = slice: step has 1 entry, expected 2 (the dims of operand 0, f32[4x8]); give one for each"},
    {"a step of 0", [](GraphBuilder& g) { slice(f32(g, {4, 8}), {0, 0}, {4, 8}, {1, 0}); },
     "%1 = slice: step[1] is 0, expected 1 or more; correct it"},
    {"a step backwards", [](GraphBuilder& g) { slice(f32(g, {4}), {0}, {4}, {-1}); },
     "%1 = slice: start[0] is 0 and stop[0] is 4, expected -1 <= stop <= start < 4 for step -1 and operand 0, f32[4]; "
     "swap them"},
    {"a start before the first element", [](GraphBuilder& g) { slice(f32(g, {4}), {-5}, {4}); },
     "%1 = slice: start[0] is -1 and stop[0] is 4, expected 0 <= start <= stop <= 4 for operand 0, f32[4]; stay inside "
     "the operand"},
    {"a stop behind the end", [](GraphBuilder& g) { slice(f32(g, {4}), {0}, {kMax}); },
     "%1 = slice: start[0] is 0 and stop[0] is 9223372036854775807, expected 0 <= start <= stop <= 4 for operand 0, "
     "f32[4]; stay inside the operand"},
    {"a stop before the start", [](GraphBuilder& g) { slice(f32(g, {4}), {3}, {2}); },
     "%1 = slice: start[0] is 3 and stop[0] is 2, expected 0 <= start <= stop <= 4 for operand 0, f32[4]; stay inside "
     "the operand"},
};

constexpr Misuse kMoves[] = {
    {"pad: too few entries", [](GraphBuilder& g) { pad(f32(g, {4, 8}), {1, 1}, {1}); },
     "%1 = pad: high has 1 entry, expected 2 (the dims of operand 0, f32[4x8]); give one for each"},
    {"pad: negative", [](GraphBuilder& g) { pad(f32(g, {4}), {0}, {-1}); },
     "%1 = pad: low[0] is 0 and high[0] is -1, expected 0 or more; use slice to cut"},
    {"pad: endless", [](GraphBuilder& g) { pad(f32(g, {4}), {kMax}, {kMax}); },
     "%1 = pad: result 0 is f32[9223372036854775807], expected fewer than 2^48 elements; divide it"},
    {"concat: along no axis", [](GraphBuilder& g) { concat(std::vector{f32(g, {4})}, 1); },
     "%1 = concat: axis is 1, expected -1 to 0 for operand 0, f32[4]; choose one of its axes"},
    {"concat: scalars", [](GraphBuilder& g) { concat(std::vector{f32(g, {})}, 0); },
     "%1 = concat: axis is 0, but operand 0 is f32[], which has no axes; reshape it"},
    {"concat: dtypes differ", [](GraphBuilder& g) { concat(std::vector{f32(g, {4}), i32(g, {4})}, 0); },
     "%2 = concat: operand 1 is i32[4], expected f32[4] like operand 0, except along axis 0; insert a cast"},
    {"concat: other extents",
     [](GraphBuilder& g) { concat(std::vector{f32(g, {4, 8}), g.input("y", DType::kF32, {4, 7})}, 0); },
     "%2 = concat: operand 1 is f32[4x7], expected f32[4x8] like operand 0, except along axis 0; reshape it"},
    {"concat: ranks differ",
     [](GraphBuilder& g) { concat(std::vector{f32(g, {4, 8}), g.input("y", DType::kF32, {8})}, 0); },
     "%2 = concat: operand 1 is f32[8], expected f32[4x8] like operand 0, except along axis 0; reshape it"},
    {"gather: by floats",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       gather(x, x, 0);
     },
     "%1 = gather: operand 1 is f32[4], expected i32 or i64; insert a cast"},
    {"gather: along no axis", [](GraphBuilder& g) { gather(f32(g, {4, 8}), i32(g, {2}), -3); },
     "%2 = gather: axis is -3, expected -2 to 1 for operand 0, f32[4x8]; choose one of its axes"},
    {"gather: of a scalar", [](GraphBuilder& g) { gather(f32(g, {}), i32(g, {2}), 0); },
     "%2 = gather: axis is 0, but operand 0 is f32[], which has no axes; reshape it"},
    {"gather: to rank 9", [](GraphBuilder& g) { gather(f32(g, {1, 1, 1, 1, 1, 1}), i32(g, {1, 1, 1, 1}), 0); },
     "%2 = gather: result 0 is f32[1x1x1x1x1x1x1x1x1], of rank 9, expected 8 or less; reshape it"},
    {"iota: of bools", [](GraphBuilder& g) { iota(g, DType::kBool, {4}, 0); },
     "%0 = iota: dtype is bool, expected an integer or a float; cast the result"},
    {"iota: along no axis", [](GraphBuilder& g) { iota(g, DType::kI64, {4}, 1); },
     "%0 = iota: axis is 1, which is not an axis of the result, i64[4]; choose one of its axes"},
    {"iota: of negative extent", [](GraphBuilder& g) { iota(g, DType::kI64, {-4}, 0); },
     "%0 = iota: result 0 is i64[-4], expected extents of 0 or more; correct them"},
};

Tensor y(GraphBuilder& g, Shape shape, DType dtype = DType::kF32) { return g.input("y", dtype, std::move(shape)); }

constexpr Misuse kSequences[] = {
    {"scatter: updates of another shape", [](GraphBuilder& g) { scatter(f32(g, {4, 8}), i32(g, {3}), y(g, {8}), 0); },
     "%3 = scatter: operand 2 is f32[8], expected f32[3x8] like the result of gather; reshape it"},
    {"scatter: updates of another dtype",
     [](GraphBuilder& g) { scatter_add(f32(g, {4, 8}), i32(g, {3}), y(g, {3, 8}, DType::kI32), 0); },
     "%3 = scatter_add: operand 2 is i32[3x8], expected f32[3x8] like the result of gather; insert a cast"},
    {"scatter: by floats",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       scatter_max(x, x, x, 0);
     },
     "%1 = scatter_max: operand 1 is f32[4], expected i32 or i64; insert a cast"},
    {"scatter: the sum of bools", [](GraphBuilder& g) { scatter_add(flag(g, {4}), i32(g, {4}), y(g, {4}), 0); },
     "%3 = scatter_add: operand 0 is bool[4], expected an integer or a float; insert a cast"},
    {"scan: along no axis", [](GraphBuilder& g) { cumulative_sum(f32(g, {4}), {.axis = 1}); },
     "%1 = cumulative_sum: axis is 1, expected -1 to 0 for operand 0, f32[4]; choose one of its axes"},
    {"scan: of bools", [](GraphBuilder& g) { cumulative_max(flag(g, {4})); },
     "%1 = cumulative_max: operand 0 is bool[4], expected an integer or a float; insert a cast"},
};

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
     "conv2d: operand 2 is an empty tensor; use what a builder returned"},
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
     "attention: 2 heads in dim 0 of key, f32[2x5x8], expected a number that divides the 3 of the query; reshape or "
     "broadcast one"},
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
     "scatter_elements: indices are i32[3x2] and updates f32[3x2], expected i32 or i64 and one shape, that of "
     "operand 0, f32[2x8], except along axis 1; reshape or cast them"},
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

constexpr Misuse kOrders[] = {
    {"sort along no axis", [](GraphBuilder& g) { sort(f32(g, {4}), 1); },
     "%1 = sort: axis is 1, expected -1 to 0 for operand 0, f32[4]; choose one of its axes"},
    {"sort of a scalar", [](GraphBuilder& g) { sort(f32(g, {})); },
     "%1 = sort: axis is -1, but operand 0 is f32[], which has no axes; reshape it"},
    {"topk of more than there are", [](GraphBuilder& g) { topk(f32(g, {2, 4}), 5); },
     "%1 = topk: k is 5, expected 0 to 4, the extent of axis 1 of operand 0, f32[2x4]; lower it"},
    {"topk of less than none", [](GraphBuilder& g) { topk(f32(g, {2, 4}), -1); },
     "%1 = topk: k is -1, expected 0 to 4, the extent of axis 1 of operand 0, f32[2x4]; raise it"},
    {"topk along no axis", [](GraphBuilder& g) { topk(f32(g, {4}), 1, {.axis = 2}); },
     "%1 = topk: axis is 2, expected -1 to 0 for operand 0, f32[4]; choose one of its axes"},
    {"topk of more than there can be", [](GraphBuilder& g) { topk(f32(g, {4}), Dim("k").at_least(5)); },
     "%1 = topk: k is k, expected 0 to 4, the extent of axis 0 of operand 0, f32[4]; lower it"},
    {"topk with indices of another shape", [](GraphBuilder& g) { topk(f32(g, {2, 4}), i32(g, {2, 3}), 1); },
     "topk: indices are i32[2x3], expected integers of the shape of operand 0, f32[2x4]; reshape or cast them"},
    {"topk with indices that are floats",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       topk(x, x, 1);
     },
     "topk: indices are f32[4], expected integers of the shape of operand 0, f32[4]; reshape or cast them"},
    {"topk with indices of another graph",
     [](GraphBuilder& g) {
       GraphBuilder other;
       topk(f32(g, {4}), i32(other, {4}), 1);
     },
     "topk: operand 1 belongs to another graph; build both in one GraphBuilder"},
    {"scatter_nd: updates of another shape",
     [](GraphBuilder& g) { scatter_nd(f32(g, {4, 8}), i32(g, {3, 1}), g.input("u", DType::kF32, {3, 4})); },
     "scatter_nd: updates are f32[3x4], expected f32[3x8] like the result of gather_nd; reshape or cast "
     "them"},
    {"searchsorted: other rows",
     [](GraphBuilder& g) { searchsorted(f32(g, {4, 8}), g.input("v", DType::kF32, {3, 8})); },
     "searchsorted: operands are f32[4x8] and f32[3x8], expected one dtype, and equal dims except the last; reshape "
     "or "
     "cast one"},
    {"cumulative_argmax: no such axis", [](GraphBuilder& g) { cumulative_argmax(f32(g, {4}), 1); },
     "cumulative_argmax: axis is 1, expected -1 to 0 for operand 0, f32[4]; choose one of these"},
    {"nonzero: a bound below 0", [](GraphBuilder& g) { nonzero(f32(g, {4}), -1); },
     "nonzero: bound is -1, expected 0 or more; raise it"},
    {"nonzero: more than a tensor may have", [](GraphBuilder& g) { nonzero(f32(g, {4}), std::int64_t{1} << 50); },
     "nonzero: the result is i64[1125899906842624x1], expected fewer than 2^48 elements; divide it"},
    {"nonzero: use of a missing result",
     [](GraphBuilder& g) { g.output("y", nonzero(f32(g, {4}), -1).indices + nonzero(f32(g, {4}), -1).count); },
     "nonzero: bound is -1, expected 0 or more; raise it"},
    {"unique: a bound below 0", [](GraphBuilder& g) { unique(f32(g, {4}), -2); },
     "unique: bound is -2, expected 0 or more; raise it"},
    {"unique: a matrix", [](GraphBuilder& g) { unique(f32(g, {4, 8})); },
     "unique: operand is f32[4x8], expected rank 1; reshape it"},
    {"unique: a scalar", [](GraphBuilder& g) { unique(f32(g, {}), 1); },
     "unique: operand is f32[], expected rank 1; reshape it"},
    {"topk with an empty tensor of indices", [](GraphBuilder& g) { topk(f32(g, {4}), Tensor(), 1); },
     "topk: operand 1 is an empty tensor; use what a builder returned"},
    {"a reshape with two dims to find", [](GraphBuilder& g) { reshape(f32(g, {4}), {-1, -1}); },
     "%1 = reshape: 2 dims of -1 in shape [-1x-1], expected 1 at most; say the others"},
    {"a reshape with an inferred dim next to extent 0", [](GraphBuilder& g) { reshape(f32(g, {4}), {-1, 0}); },
     "%1 = reshape: -1 in shape [-1x0] can be any number, as the others make 0 elements; say the number"},
};

TEST_CASE("reshape keeps the number of elements") { expect_refused(kReshapes); }
TEST_CASE("transpose takes a permutation") { expect_refused(kTransposes); }
TEST_CASE("broadcast takes ascending dims and extents that fit") { expect_refused(kBroadcasts); }
TEST_CASE("slice stays inside its operand") { expect_refused(kSlices); }
TEST_CASE("pad, concat, gather and iota refuse operands that they cannot place") { expect_refused(kMoves); }
TEST_CASE("scans and scatters refuse types that do not meet") { expect_refused(kSequences); }
TEST_CASE("composites refuse operands that they cannot build from") { expect_refused(kComposites); }
TEST_CASE("sort and topk refuse axes and counts that they do not have") { expect_refused(kOrders); }

}  // namespace
}  // namespace millrace
