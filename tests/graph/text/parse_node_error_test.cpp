// SPDX-License-Identifier: Apache-2.0
// Every mistake that a node of a text can hold, and the whole message that names its place.
#include <doctest/doctest.h>

#include "tests/graph/mistake.h"

namespace millrace {
namespace {

constexpr Mistake kNodes[] = {
    {"graph g(%x: f32[4]) {\n"
     "  %y exp(%x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:6: found 'exp', expected ',' or '='; say what computes the values\n"
     "  %y exp(%x)\n"
     "     ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, exp(%x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:7: found 'exp', expected a value; write '%' and its name\n"
     "  %y, exp(%x)\n"
     "      ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = topq(%x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:8: found 'topq', expected an op, 'constant', 'variable', 'kernel', 'while' or 'if'; did you mean 'topk'?\n"
     "  %y = topq(%x)\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = 3\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:8: found '3', expected an op, 'constant', 'variable', 'kernel', 'while' or 'if'; 'millrace ops' lists the "
     "ops\n"
     "  %y = 3\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = convolve(%x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:8: found 'convolve', expected an op, 'constant', 'variable', 'kernel', 'while' or 'if'; 'millrace ops' "
     "lists the ops\n"
     "  %y = convolve(%x)\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp %x\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:12: found '%x', expected '('; write the operands in parentheses\n"
     "  %y = exp %x\n"
     "           ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(4)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:12: found '4', expected a value; write '%' and its name\n"
     "  %y = exp(4)\n"
     "           ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%xx)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:12: found '%xx', expected a value that is defined above; did you mean '%x'?\n"
     "  %y = exp(%xx)\n"
     "           ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%other)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:12: found '%other', expected a value that is defined above; define it first\n"
     "  %y = exp(%other)\n"
     "           ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%y)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:12: found '%y', expected a value that is defined above; define it first\n"
     "  %y = exp(%y)\n"
     "           ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%x\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:3:3: found 'return', expected ',' or ')'; close the operands\n"
     "  return y = %y\n"
     "  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%x, %x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:8: exp: 2 operands, expected 1 (x); leave out the last\n"
     "  %y = exp(%x, %x)\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = topk(%x) {k = 2}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:3: found 1 name, expected 2 for the results of topk; name each once\n"
     "  %y = topk(%x) {k = 2}\n"
     "  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %z = exp(%x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:3: found 2 names, expected 1 for the results of exp; name each once\n"
     "  %y, %z = exp(%x)\n"
     "  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %x = exp(%x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:3: found '%x' again, expected a name that is not taken; rename it\n"
     "  %x = exp(%x)\n"
     "  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %y = sort(%x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:7: found '%y' again, expected a name that is not taken; rename it\n"
     "  %y, %y = sort(%x)\n"
     "      ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%x) : f32[8]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:18: found f32[8], expected f32[4], the result of exp; correct the type or leave it out\n"
     "  %y = exp(%x) : f32[8]\n"
     "                 ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%x) : f32\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:3:3: found 'return', expected '[' and the dims; write [] for a scalar\n"
     "  return y = %y\n"
     "  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y, %z = sort(%x) : f32[4]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:3:3: found 'return', expected ',' and the type of result 1; give all types or none\n"
     "  return y = %y\n"
     "  ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%x) : f32[4], f32[4]\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:24: found ',', expected a node, 'input', 'update' or 'return'; begin a node with the names of its "
     "results, such as "
     "%y\n"
     "  %y = exp(%x) : f32[4], f32[4]\n"
     "                       ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = topk(%x) {k = 5}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:8: topk: k is 5, expected 0 to 4, the extent of axis 0 of operand 0, f32[4]; lower it\n"
     "  %y = topk(%x) {k = 5}\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = exp(%x) : f32[4] {axis = 1}\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:25: found '{', expected a node, 'input', 'update' or 'return'; begin a node with the names of its "
     "results, such as "
     "%y\n"
     "  %y = exp(%x) : f32[4] {axis = 1}\n"
     "                        ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = kernel swish(%x)\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:15: found kernel \"swish\", expected one that the application gives as ParseOptions::kernels; give it "
     "there, or use ops alone\n"
     "  %y = kernel swish(%x)\n"
     "              ^"},
    {"graph g(%x: f32[4]) {\n"
     "  %y = kernel %x\n"
     "  return y = %y\n"
     "}\n",
     "g.mr:2:15: found '%x', expected the kernel's name; write it\n"
     "  %y = kernel %x\n"
     "              ^"},
};

TEST_CASE("a mistake in a node is reported with its place") { expect_errors(kNodes); }

}  // namespace
}  // namespace millrace
