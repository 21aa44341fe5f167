// SPDX-License-Identifier: Apache-2.0
// Mistakes in composites of a text, words of other libraries, and the whole message that names the place.
#include <doctest/doctest.h>

#include "tests/graph/mistake.h"

namespace millrace {
namespace {

constexpr Mistake kMistakes[] = {
    {"graph g(%x: f32[4]) {\n  %y = sofmax(%x)\n  return y = %y\n}\n",
     "g.mr:2:8: found 'sofmax', expected an op, 'constant', 'variable', 'kernel', 'while' or 'if'; did you mean "
     "'softmax'?\n"
     "  %y = sofmax(%x)\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = softmax(%x) {axes = 0}\n  return y = %y\n}\n",
     "g.mr:2:21: found 'axes', expected an attribute of softmax: axis; did you mean 'axis'?\n"
     "  %y = softmax(%x) {axes = 0}\n"
     "                    ^"},
    {"graph g(%x: f32[4]) {\n  %y = relu(%x) {axis = 0}\n  return y = %y\n}\n",
     "g.mr:2:18: found 'axis', expected '}', as relu has no attributes; remove it\n"
     "  %y = relu(%x) {axis = 0}\n"
     "                 ^"},
    {"graph g(%x: f32[4]) {\n  %y = softmax(%x) {axis = 1}\n  return y = %y\n}\n",
     "g.mr:2:8: softmax: axis is 1, expected -1 to 0 for operand 0, f32[4]; choose one of these\n"
     "  %y = softmax(%x) {axis = 1}\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = clamp(%x) {low = 1}\n  return y = %y\n}\n",
     "g.mr:2:8: clamp: expected high; give it in braces\n"
     "  %y = clamp(%x) {low = 1}\n"
     "       ^"},
    {"graph g(%x: i32[4]) {\n  %y = clamp(%x) {low = 0.5, high = 2}\n  return y = %y\n}\n",
     "g.mr:2:8: clamp: the bound 0.5 for i32[4], expected an integer; cast the tensor\n"
     "  %y = clamp(%x) {low = 0.5, high = 2}\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = matmul(%x)\n  return y = %y\n}\n",
     "g.mr:2:8: matmul: 1 operand, expected 2 (x, y); pass the missing y\n"
     "  %y = matmul(%x)\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = attention(%x, %x)\n  return y = %y\n}\n",
     "g.mr:2:8: attention: 2 operands, expected 3 to 4 (query, key, value, [mask]); pass the missing value\n"
     "  %y = attention(%x, %x)\n"
     "       ^"},
    {"graph g(%x: f32[4], %i: i32[3]) {\n  %y, %z = topk(%x, %i) {k = 2}\n  return y = %y\n}\n",
     "g.mr:2:12: topk: indices are i32[3], expected integers of the shape of operand 0, f32[4]; reshape or cast them\n"
     "  %y, %z = topk(%x, %i) {k = 2}\n"
     "           ^"},
    {"graph g(%x: f32[4], %i: i32[4]) {\n  %y, %z = topk(%x, %i) {axes = 0}\n  return y = %y\n}\n",
     "g.mr:2:26: found 'axes', expected an attribute of topk: k, axis, largest, sorted; did you mean 'axis'?\n"
     "  %y, %z = topk(%x, %i) {axes = 0}\n"
     "                         ^"},
    {"graph g(%x: f32[4], %i: i32[]) {\n  %y = update_slice(%x, %x, %i) {axis = 0, start = 1}\n  return y = %y\n}\n",
     "g.mr:2:8: update_slice: 2 starts, expected one; give an operand or the attribute start\n"
     "  %y = update_slice(%x, %x, %i) {axis = 0, star...\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = update_slice(%x, %x) {axis = 0}\n  return y = %y\n}\n",
     "g.mr:2:8: update_slice: 0 starts, expected one; give an operand or the attribute start\n"
     "  %y = update_slice(%x, %x) {axis = 0}\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = update_slice(%x, %x) {start = 0}\n  return y = %y\n}\n",
     "g.mr:2:8: update_slice: expected axis; give it in braces\n"
     "  %y = update_slice(%x, %x) {start = 0}\n"
     "       ^"},
    {"graph g(%x: f32[4x8]) {\n  %v, %i, %c, %f, %n = unique(%x)\n  return y = %v\n}\n",
     "g.mr:2:24: unique: operand is f32[4x8], expected rank 1; reshape it\n"
     "  %v, %i, %c, %f, %n = unique(%x)\n"
     "                       ^"},
    {"graph g(%x: f32[4]) {\n  %y = stack() {axis = 0}\n  return y = %y\n}\n",
     "g.mr:2:8: stack: 0 operands, expected 1 or more (x, y, ...); pass the missing x\n"
     "  %y = stack() {axis = 0}\n"
     "       ^"},
    {"graph g(%x: f32[1x8x2x2]) {\n  %y = depth_to_space(%x) {block = 2, order = dcr}\n  return y = %y\n}\n",
     "g.mr:2:47: found 'dcr', expected one of block_first, channel_first; choose one of them\n"
     "  %y = depth_to_space(%x) {block = 2, order = dcr}\n"
     "                                              ^"},
    {"graph g(%x: f32[4x8]) {\n  %y = einsum(%x) {equation = ij}\n  return y = %y\n}\n",
     "g.mr:2:31: found 'ij', expected a string; put it in double quotes\n"
     "  %y = einsum(%x) {equation = ij}\n"
     "                              ^"},
    {"graph g(%x: f32[8]) {\n  %y, %z, %u = split(%x) {sizes = [8], axis = 0}\n  return y = %y\n}\n",
     "g.mr:2:3: found 3 names, expected 1 for the results of split; name each once\n"
     "  %y, %z, %u = split(%x) {sizes = [8], axi...\n"
     "  ^"},
    {"graph g(%x: f32[4x8]) {\n  %y = softmax(%x) : f32[4]\n  return y = %y\n}\n",
     "g.mr:2:22: found f32[4], expected f32[4x8], the result of softmax; correct the type or leave it out\n"
     "  %y = softmax(%x) : f32[4]\n"
     "                     ^"},
};

TEST_CASE("a mistake in a composite is shown at its place, with the composite's name") { expect_errors(kMistakes); }

constexpr Mistake kDTypes[] = {
    {"graph g(%x: f64[4]) {\n  %y = float32(%x)\n  return y = %y\n}\n",
     "g.mr:2:8: found 'float32', expected an op, 'constant', 'variable', 'kernel', 'while' or 'if'; to convert, write "
     "cast(...) "
     "{dtype = f32}\n"
     "  %y = float32(%x)\n"
     "       ^"},
    {"graph g(%x: float32[4]) { return y = %x }",
     "g.mr:1:13: found 'float32', expected a dtype; did you mean 'f32'?\n"
     "graph g(%x: float32[4]) { return y = %x }\n"
     "            ^"},
    {"graph g(%x: bflaot16[4]) { return y = %x }",
     "g.mr:1:13: found 'bflaot16', expected a dtype; did you mean 'bf16'?\n"
     "graph g(%x: bflaot16[4]) { return y = %x }\n"
     "            ^"},
    {"graph g(%x: uint8[4]) { return y = %x }",
     "g.mr:1:13: found 'uint8', expected a dtype; did you mean 'u8'?\n"
     "graph g(%x: uint8[4]) { return y = %x }\n"
     "            ^"},
};

TEST_CASE("a dtype by another library's name is reported with our name") { expect_errors(kDTypes); }

constexpr Mistake kReshapes[] = {
    {"graph g(%x: f32[4x8]) {\n  %y = reshape(%x) {shape = [5, -1]}\n  return y = %y\n}\n",
     "g.mr:2:8: reshape: operand 0 is f32[4x8], with 32 elements, expected a multiple of 5 for shape [5x-1]; correct "
     "the shape\n"
     "  %y = reshape(%x) {shape = [5, -1]}\n"
     "       ^"},
};

TEST_CASE("reshape names the shape that was written") { expect_errors(kReshapes); }

}  // namespace
}  // namespace millrace
