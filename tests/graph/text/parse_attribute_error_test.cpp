// SPDX-License-Identifier: Apache-2.0
// Every mistake that the attributes and constants of a text can hold, and the whole message that names its place.
#include <doctest/doctest.h>

#include "tests/graph/mistake.h"

namespace millrace {
namespace {

constexpr Mistake kAttributes[] = {
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {4 = k}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:22: found '4', expected an attribute of topk: k, axis, largest, sorted; choose one of them\n"
     "  %y, %i = topk(%x) {4 = k}\n"
     "                     ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {K = 4}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:22: found 'K', expected an attribute of topk: k, axis, largest, sorted; choose one of them\n"
     "  %y, %i = topk(%x) {K = 4}\n"
     "                     ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {number = 4}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:22: found 'number', expected an attribute of topk: k, axis, largest, sorted; choose one of them\n"
     "  %y, %i = topk(%x) {number = 4}\n"
     "                     ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%x) {axis = 1}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found 'axis', expected '}', as exp has no attributes; remove it\n"
     "  %y = exp(%x) {axis = 1}\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {k = 2, k = 3}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:29: found 'k' again, expected each attribute once; remove one\n"
     "  %y, %i = topk(%x) {k = 2, k = 3}\n"
     "                            ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {k: 2}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:23: found ':', expected '='; say what k is\n"
     "  %y, %i = topk(%x) {k: 2}\n"
     "                      ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {k = 2 axis = 0}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:28: found 'axis', expected ',' or '}'; close the attributes\n"
     "  %y, %i = topk(%x) {k = 2 axis = 0}\n"
     "                           ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {k = }\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:26: found '}', expected a size; write a number, a symbol or an expression of them\n"
     "  %y, %i = topk(%x) {k = }\n"
     "                         ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {axis = first}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:29: found 'first', expected an integer of dtype i64; write one\n"
     "  %y, %i = topk(%x) {axis = first}\n"
     "                            ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {axis = 9223372036854775808}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:29: found 9223372036854775808, expected -9223372036854775808 to 9223372036854775807, the range of i64; "
     "change the number or the dtype\n"
     "  %y, %i = topk(%x) {axis = 9223372036854775808}\n"
     "                            ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %i = topk(%x) {sorted = 1}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:31: found '1', expected true or false; write one of them\n"
     "  %y, %i = topk(%x) {sorted = 1}\n"
     "                              ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = cast(%x) {dtype = f33}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:26: found 'f33', expected a dtype; did you mean 'f32'?\n"
     "  %y = cast(%x) {dtype = f33}\n"
     "                         ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = pad(%x) {low = [0], high = [0], value = x}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:48: found 'x', expected a number of dtype f32; write one\n"
     "  %y = pad(%x) {low = [0], high = [0], value = x}\n"
     "                                               ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = pad(%x) {low = [0], high = [0], value = 1e999}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:48: found 1e999, expected a number that f32 can hold; change the number or the dtype\n"
     "  %y = pad(%x) {low = [0], high = [0], value = 1e999}\n"
     "                                               ^"},
    {"graph g(%x: u64[4]) {\n"
     "  %y = pad(%x) {low = [0], high = [1], value = 18446744073709551616}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:48: found 18446744073709551616, expected 0 to 18446744073709551615, the range of u64; change the number "
     "or "
     "the dtype\n"
     "  %y = pad(%x) {low = [0], high = [1], value = 18446744073709551616}\n"
     "                                               ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = pad(%x) {low = [0], high = [floor_div(4, 0)]}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:49: found the divisor 0, expected one that can be 1 or more; correct it\n"
     "  %y = pad(%x) {low = [0], high = [floor_div(4, 0)]}\n"
     "                                                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = reduce_sum(%x) {axes = 0}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:31: found '0', expected '['; axes is a list\n"
     "  %y = reduce_sum(%x) {axes = 0}\n"
     "                              ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = reduce_sum(%x) {axes = [0 1]}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:34: found '1', expected ',' or ']'; close the list\n"
     "  %y = reduce_sum(%x) {axes = [0 1]}\n"
     "                                 ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = reduce_sum(%x) {axes = [0,]}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:34: found ']', expected an integer of dtype i64; write one\n"
     "  %y = reduce_sum(%x) {axes = [0,]}\n"
     "                                 ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = reshape(%x) {shape = [3]}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:8: reshape: operand 0 is f32[4], with 4 elements, expected 3 for shape [3]; correct the shape\n"
     "  %y = reshape(%x) {shape = [3]}\n"
     "       ^"},
};

constexpr Mistake kConstants[] = {
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant 4\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found '4', expected '('; write the elements in parentheses\n"
     "  %y = constant 4\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(4 : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:19: found ':', expected ')'; close the elements\n"
     "  %y = constant(4 : f32[]\n"
     "                  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(4;) : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:18: found ';', expected ')'; close the elements\n"
     "  %y = constant(4;) : f32[]\n"
     "                 ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(4)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:3:3: found 'return', expected ':' and a type; say what the elements are\n"
     "  return y = %y\n"
     "  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(4) : 32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:22: found '32', expected a dtype; write one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, "
     "f32, f64\n"
     "  %y = constant(4) : 32[]\n"
     "                     ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(4) : f32[-1]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:22: the type is f32[-1], expected extents of 0 or more; correct the extent\n"
     "  %y = constant(4) : f32[-1]\n"
     "                     ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(4, 5) : f32[4]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found 2 elements, expected 4 for f32[4]; give every element once\n"
     "  %y = constant(4, 5) : f32[4]\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant() : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found 0 elements, expected 1 for f32[]; give every element once\n"
     "  %y = constant() : f32[]\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(4 5) : f32[2]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:19: found '5', expected ',' or ')'; separate the elements with commas\n"
     "  %y = constant(4 5) : f32[2]\n"
     "                  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(4,) : f32[2]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:19: found ')', expected a number of dtype f32; write one\n"
     "  %y = constant(4,) : f32[2]\n"
     "                  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(x) : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found 'x', expected a number of dtype f32; write one\n"
     "  %y = constant(x) : f32[]\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(300) : u8[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found 300, expected 0 to 255, the range of u8; change the number or the dtype\n"
     "  %y = constant(300) : u8[]\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(1.5) : i32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found 1.5, expected an integer of dtype i32; change the number or the dtype\n"
     "  %y = constant(1.5) : i32[]\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(2) : bool[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found '2', expected true or false; write one of them\n"
     "  %y = constant(2) : bool[]\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(70000) : f16[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found 70000, expected a number that f16 can hold; change the number or the dtype\n"
     "  %y = constant(70000) : f16[]\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(nan(0)) : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:21: found '0', expected the bits of a NaN of f32, such as 0x7fc00000; correct them\n"
     "  %y = constant(nan(0)) : f32[]\n"
     "                    ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(1, 2, 3, 4, 5, 6, 7, 8, ... 9 more) : f32[17]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:41: found a constant that is cut short, expected all its elements; print it to a file with dump -o, "
     "or in C++ with LargeConstants::kBytes\n"
     "  %y = constant(1, 2, 3, 4, 5, 6, 7, 8, ... 9 more) : f32[17]\n"
     "                                        ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(bytes \"0000803\") : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:23: found other characters, expected two hexadecimal digits per byte; correct the digits\n"
     "  %y = constant(bytes \"0000803\") : f32[]\n"
     "                      ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(bytes \"0000803G\") : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:23: found other characters, expected two hexadecimal digits per byte; correct the digits\n"
     "  %y = constant(bytes \"0000803G\") : f32[]\n"
     "                      ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(bytes \"0000\") : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found 2 bytes, expected 4 for f32[]; give every element once\n"
     "  %y = constant(bytes \"0000\") : f32[]\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(bytes 00000000) : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:23: found '00000000', expected a string; put it in double quotes\n"
     "  %y = constant(bytes 00000000) : f32[]\n"
     "                      ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(bytes \"00000000) : f32[]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:23: found a string without an end, expected '\"' on the same line; close it\n"
     "  %y = constant(bytes \"00000000) : f32[]\n"
     "                      ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(file(\"w.npy\"))\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:21: found the file \"w.npy\", expected none in a text that has no directory; read the text with "
     "read_graph, or set ParseOptions::directory\n"
     "  %y = constant(file(\"w.npy\"))\n"
     "                    ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(file \"w.npy\")\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:22: found '\"', expected '('; write the file's name in parentheses\n"
     "  %y = constant(file \"w.npy\")\n"
     "                     ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(file(w.npy))\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:22: found 'w.npy', expected a string; put it in double quotes\n"
     "  %y = constant(file(w.npy))\n"
     "                     ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(file(\"w.npy\", ))\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:31: found ')', expected a string; put it in double quotes\n"
     "  %y = constant(file(\"w.npy\", ))\n"
     "                              ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(file(\"w.npy\")\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:21: found the file \"w.npy\", expected none in a text that has no directory; read the text with "
     "read_graph, or set ParseOptions::directory\n"
     "  %y = constant(file(\"w.npy\")\n"
     "                    ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(file(\"w.npy\", \"a\")\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:21: found the file \"w.npy\", expected none in a text that has no directory; read the text with "
     "read_graph, or set ParseOptions::directory\n"
     "  %y = constant(file(\"w.npy\", \"a\")\n"
     "                    ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = constant(0, 1) : f32[16777216, 16777215]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:17: found 2 elements, expected 281474959933440 for f32[16777216x16777215]; give every element once\n"
     "  %y = constant(0, 1) : f32[16777216, 16777215]\n"
     "                ^"},
};

TEST_CASE("a mistake in an attribute is reported with its place") { expect_errors(kAttributes); }
TEST_CASE("a mistake in a constant is reported with its place") { expect_errors(kConstants); }

}  // namespace
}  // namespace millrace
