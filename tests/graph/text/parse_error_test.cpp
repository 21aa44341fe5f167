// SPDX-License-Identifier: Apache-2.0
// Every mistake that a text of a graph can hold, and the whole message that names its place.
#include <doctest/doctest.h>

#include "tests/graph/mistake.h"

namespace millrace {
namespace {

constexpr Mistake kFrame[] = {
    {"",
     "g.mr:1:1: found the end of the text, expected 'graph'; begin with graph <name>(<inputs>) {\n"
     "\n"
     "^"},
    {"grpah g() {}",
     "g.mr:1:1: found 'grpah', expected 'graph'; begin with graph <name>(<inputs>) {\n"
     "grpah g() {}\n"
     "^"},
    {"graph (%x: f32[4]) {}",
     "g.mr:1:7: found '(', expected the graph's name; give it one\n"
     "graph (%x: f32[4]) {}\n"
     "      ^"},
    {"graph g {}",
     "g.mr:1:9: found '{', expected '('; write the graph's inputs in parentheses\n"
     "graph g {}\n"
     "        ^"},
    {"graph g(x: f32[4]) {}",
     "g.mr:1:9: found 'x', expected a value; write '%' and its name\n"
     "graph g(x: f32[4]) {}\n"
     "        ^"},
    {"graph g(%: f32[4]) {}",
     "g.mr:1:10: found ':', expected a value's name after '%'; write it\n"
     "graph g(%: f32[4]) {}\n"
     "         ^"},
    {"graph g(%x f32[4]) {}",
     "g.mr:1:12: found 'f32', expected ':'; say the input's type\n"
     "graph g(%x f32[4]) {}\n"
     "           ^"},
    {"graph g(%x: f32[4] %y: f32[4]) {}",
     "g.mr:1:20: found '%y', expected ',' or ')'; close the graph's inputs\n"
     "graph g(%x: f32[4] %y: f32[4]) {}\n"
     "                   ^"},
    {"graph g(%x: f32[4],\n"
     "        %x: f32[4]) {}",
     "g.mr:2:9: found '%x' again, expected a name that is not taken; rename it\n"
     "        %x: f32[4]) {}\n"
     "        ^"},
    {"graph g(%x: f32[4]) return",
     "g.mr:1:21: found 'return', expected '{'; write the graph's nodes in braces\n"
     "graph g(%x: f32[4]) return\n"
     "                    ^"},
    {"graph g(%\"\": f32[4]) { return y = %\"\" }",
     "g.mr:1:7: %0 = input: the name is empty; give every input a name\n"
     "graph g(%\"\": f32[4]) { return y = %\"\" }\n"
     "      ^"},
    {"graph g(%x: f32[4]) {\n"
     "  x = exp(%x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:3: found 'x', expected a node, 'input', 'update' or 'return'; begin a node with the names of its results, "
     "such as "
     "%y\n"
     "  x = exp(%x)\n"
     "  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  input %y\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:9: found '%y', expected a value that is defined above; define it first\n"
     "  input %y\n"
     "        ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %1 = exp(%x)\n"
     "  input %1\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:3:9: found '%1', expected an input of the graph; remove the line\n"
     "  input %1\n"
     "        ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %1 = exp(%x)\n"
     "  input %x\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:3:9: found '%x', expected one place per input, before its readers; move the line up or remove it\n"
     "  input %x\n"
     "        ^"},
    {"graph g(%x: f32[4]) {\n"
     "  input %x\n"
     "  input %x\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:3:9: found '%x', expected one place per input, before its readers; move the line up or remove it\n"
     "  input %x\n"
     "        ^"},
    {"graph g(%x: f32[4]) {\n"
     "  return\n"
     "}\n",
     "g.mr:3:1: found '}', expected an output's name; name what is computed\n"
     "}\n"
     "^"},
    {"graph g(%x: f32[4]) {\n"
     "  return y\n"
     "}\n",
     "g.mr:3:1: found '}', expected '='; say the output's value\n"
     "}\n"
     "^"},
    {"graph g(%x: f32[4]) {\n"
     "  return y = x\n"
     "}\n",
     "g.mr:2:14: found 'x', expected a value; write '%' and its name\n"
     "  return y = x\n"
     "             ^"},
    {"graph g(%x: f32[4]) {\n"
     "  return x = %x, x = %x\n"
     "}\n",
     "g.mr:2:18: found output \"x\" again, expected a name that is not taken; rename it\n"
     "  return x = %x, x = %x\n"
     "                 ^"},
    {"graph g(%x: f32[4]) {\n"
     "  return x = %x y = %x\n"
     "}\n",
     "g.mr:2:17: found 'y', expected ',' or '}'; close the graph\n"
     "  return x = %x y = %x\n"
     "                ^"},
    {"graph g(%x: f32[4]) {\n"
     "  return x = %x\n",
     "g.mr:3:1: found the end of the text, expected ',' or '}'; close the graph\n"
     "\n"
     "^"},
    {"graph g(%x: f32[4]) {\n"
     "  return x = %x\n"
     "}\n"
     "graph h() {}",
     "g.mr:4:1: found 'graph', expected the end of the text; keep one graph in a text\n"
     "graph h() {}\n"
     "^"},
    {"graph g(%x: f32[4]) {\n"
     "  return \"\" = %x\n"
     "}\n",
     "g.mr:1:7: an output's name is empty; give every output a name\n"
     "graph g(%x: f32[4]) {\n"
     "      ^"},
    {"graph \"g",
     "g.mr:1:7: found a string without an end, expected '\"' on the same line; close it\n"
     "graph \"g\n"
     "      ^"},
    {"graph g(%x: f32[4]) {\n",
     "g.mr:2:1: found the end of the text, expected a node, 'input', 'update' or 'return'; begin a node with the names "
     "of its "
     "results, such as %y\n"
     "\n"
     "^"},
};

constexpr Mistake kTypes[] = {
    {"graph g(%x: f23[4]) {}",
     "g.mr:1:13: found 'f23', expected a dtype; write one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, "
     "f32, f64\n"
     "graph g(%x: f23[4]) {}\n"
     "            ^"},
    {"graph g(%x: tensor[4]) {}",
     "g.mr:1:13: found 'tensor', expected a dtype; write one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, "
     "f32, f64\n"
     "graph g(%x: tensor[4]) {}\n"
     "            ^"},
    {"graph g(%x: f32 4) {}",
     "g.mr:1:17: found '4', expected '[' and the dims; write [] for a scalar\n"
     "graph g(%x: f32 4) {}\n"
     "                ^"},
    {"graph g(%x: f32[4 4]) {}",
     "g.mr:1:19: found '4', expected ',' or ']'; close the dims\n"
     "graph g(%x: f32[4 4]) {}\n"
     "                  ^"},
    {"graph g(%x: f32[4x]) {}",
     "g.mr:1:18: found 'x', expected ',' or ']'; close the dims\n"
     "graph g(%x: f32[4x]) {}\n"
     "                 ^"},
    {"graph g(%x: f32[nx4 in 1..2x4]) {}",
     "g.mr:1:28: found 'x4', expected ',' or ']'; close the dims\n"
     "graph g(%x: f32[nx4 in 1..2x4]) {}\n"
     "                           ^"},
    {"graph g(%x: f32[-1]) {}",
     "g.mr:1:13: the type is f32[-1], expected extents of 0 or more; correct the extent\n"
     "graph g(%x: f32[-1]) {}\n"
     "            ^"},
    {"graph g(%x: f32[1,1,1,1,1,1,1,1,1]) {}",
     "g.mr:1:13: the type is f32[1x1x1x1x1x1x1x1x1], of rank 9, expected 8 or less; reshape it\n"
     "graph g(%x: f32[1,1,1,1,1,1,1,1,1]) {}\n"
     "            ^"},
    {"graph g(%x: f32[281474976710656]) {}",
     "g.mr:1:13: the type is f32[281474976710656], expected fewer than 2^48 elements; divide it\n"
     "graph g(%x: f32[281474976710656]) {}\n"
     "            ^"},
    {"graph g(%x: f32[99999999999999999999]) {}",
     "g.mr:1:17: found 99999999999999999999, expected a number within int64; lower it\n"
     "graph g(%x: f32[99999999999999999999]) {}\n"
     "                ^"},
    {"graph g(%x: f32[n in 1..4], %y: f32[n in 1..5]) {}",
     "g.mr:1:37: dim 'n': promised n in 1..5, expected n in 1..4 as elsewhere; state the same facts everywhere\n"
     "graph g(%x: f32[n in 1..4], %y: f32[n in 1..5]) {}\n"
     "                                    ^"},
    {"graph g(%x: f32[n], %y: f32[n in 1..5]) {}",
     "g.mr:1:29: dim 'n': promised n in 1..5, expected n in 0.. as elsewhere; state the same facts everywhere\n"
     "graph g(%x: f32[n], %y: f32[n in 1..5]) {}\n"
     "                            ^"},
    {"graph g(%x: f32[n in 5..4]) {}",
     "g.mr:1:17: dim 'n': no value keeps n in 5..4, expected at least one; loosen a fact\n"
     "graph g(%x: f32[n in 5..4]) {}\n"
     "                ^"},
    {"graph g(%x: f32[2*n in 1..4]) {}",
     "g.mr:1:21: found 'in', expected facts next to one symbol only; put the symbol and its facts in parentheses\n"
     "graph g(%x: f32[2*n in 1..4]) {}\n"
     "                    ^"},
};

TEST_CASE("a mistake in the frame of a graph is reported with its place") { expect_errors(kFrame); }
TEST_CASE("a mistake in a type is reported with its place") { expect_errors(kTypes); }

struct Same {
  static auto emit(auto&, auto x) { return x[0]; }
};

TEST_CASE("an unknown kernel is refused, with a similar name") {
  const ParseOptions options{.name = "g.mr", .kernels = {make_custom_kernel<Same>("swish")}};
  const char* text = "graph g(%x: f32[4]) {\n  %y = kernel \"swich\"(%x)\n  return y = %y\n}";
  CHECK(parse_graph(text, options).status().message() ==
        "g.mr:2:15: found kernel \"swich\", expected one that the application gives as ParseOptions::kernels; did you "
        "mean 'swish'?\n"
        "  %y = kernel \"swich\"(%x)\n"
        "              ^");
}

TEST_CASE("no depth of nesting and no length is fatal") {
  const auto error = [](const std::string& size) {
    return parse_graph("graph g(%x: f32[" + size + "]) { return x = %x }").status().message();
  };
  CHECK(error(std::string(100'000, '(')).starts_with("graph:1:81: found 65 nested sizes, expected fewer;"));
  CHECK(error(std::string(100'000, '1')).starts_with("graph:1:17: found 1111"));
  CHECK(error(std::string(100'000, '-')).starts_with("graph:1:18: found '-', expected a size;"));
  CHECK(
      parse_graph(std::string(100'000, '{')).status().message().starts_with("graph:1:1: found '{', expected 'graph'"));
  CHECK(parse_graph("graph g(" + std::string(100'000, '%')).status().message().starts_with("graph:1:10: found '%', "));
}

}  // namespace
}  // namespace millrace
