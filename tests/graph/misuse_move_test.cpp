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
     "%1 = reshape: result 0 is f32[-4x-8], expected extents of 0 or more; correct the extent"},
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
     "%1 = transpose: permutation[1] is 1, which is already named; name each axis once"},
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
     "broadcast_to: operand 0 is f32[2x4], expected dims that are 1 or those of shape [4], aligned at the last; "
     "reshape it"},
    {"to a scalar", [](GraphBuilder& g) { broadcast_to(f32(g, {1}), {}); },
     "broadcast_to: operand 0 is f32[1], expected dims that are 1 or those of shape [], aligned at the last; reshape "
     "it"},
    {"to a negative extent", [](GraphBuilder& g) { broadcast_to(f32(g, {1}), {-2, 1}); },
     "broadcast_to: the result is f32[-2x1], expected extents of 0 or more; correct the extent"},
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
     "%0 = iota: result 0 is i64[-4], expected extents of 0 or more; correct the extent"},
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
    {"scatter: the product of bools", [](GraphBuilder& g) { scatter_mul(flag(g, {4}), i32(g, {4}), y(g, {4}), 0); },
     "%3 = scatter_mul: operand 0 is bool[4], expected an integer or a float; insert a cast"},
    {"scan: along no axis", [](GraphBuilder& g) { cumulative_sum(f32(g, {4}), {.axis = 1}); },
     "%1 = cumulative_sum: axis is 1, expected -1 to 0 for operand 0, f32[4]; choose one of its axes"},
    {"scan: of bools", [](GraphBuilder& g) { cumulative_max(flag(g, {4})); },
     "%1 = cumulative_max: operand 0 is bool[4], expected an integer or a float; insert a cast"},
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
     "topk: operand 1 is an empty tensor; use one that a builder returned"},
    {"a reshape with two dims to find", [](GraphBuilder& g) { reshape(f32(g, {4}), {-1, -1}); },
     "%1 = reshape: 2 dims of -1 in shape [-1x-1], expected at most 1; give the others"},
    {"a reshape with an inferred dim next to extent 0", [](GraphBuilder& g) { reshape(f32(g, {4}), {-1, 0}); },
     "%1 = reshape: -1 in shape [-1x0] can be any number, as the other dims make 0 elements; give the number"},
};

TEST_CASE("reshape keeps the number of elements") { expect_refused(kReshapes); }
TEST_CASE("transpose takes a permutation") { expect_refused(kTransposes); }
TEST_CASE("broadcast takes ascending dims and extents that fit") { expect_refused(kBroadcasts); }
TEST_CASE("slice stays inside its operand") { expect_refused(kSlices); }
TEST_CASE("pad, concat, gather and iota refuse operands that they cannot place") { expect_refused(kMoves); }
TEST_CASE("scans and scatters refuse types that do not meet") { expect_refused(kSequences); }
TEST_CASE("sort and topk refuse axes and counts that they do not have") { expect_refused(kOrders); }

}  // namespace
}  // namespace millrace
