// SPDX-License-Identifier: Apache-2.0
// Short forms that a text may use: operands of other shapes, numbers, one element for all.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/millrace.h"
#include "tests/graph/mistake.h"
#include "tests/support/graphs/round_trip.h"

namespace millrace {
namespace {

std::string read_back(std::string_view text) {
  const Result<Graph> graph = parse_graph(text);
  if (!graph.ok()) return graph.status().message();
  CHECK(round_trip_problem(*graph) == "");
  return to_text(*graph);
}

TEST_CASE("an elementwise op of two operands broadcasts them, and takes a number, as in C++") {
  CHECK(read_back("graph g(%x: f32[rows in 1..64, 8], %scale: f32[8]) {\n"
                  "  %y = mul(%x, %scale)\n"
                  "  %z = sub(1, %y) : f32[rows, 8]\n"
                  "  return z = %z\n"
                  "}\n") ==
        "graph g(%x: f32[rows in 1..64, 8], %scale: f32[8]) {\n"
        "  %2 = broadcast(%scale) {shape = [rows, 8], dims = [1]} : f32[rows, 8]\n"
        "  %y = mul(%x, %2) : f32[rows, 8]\n"
        "  %4 = constant(1) : f32[]\n"
        "  %5 = broadcast(%4) {shape = [rows, 8], dims = []} : f32[rows, 8]\n"
        "  %z = sub(%5, %y) : f32[rows, 8]\n"
        "  return z = %z\n"
        "}\n");
}

TEST_CASE("a call with a number makes the nodes that C++ makes, for every op that takes one") {
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example)
#define MILLRACE_UNARY(name, rule, meaning)
#define MILLRACE_BINARY(name, traits, rule, meaning)                                                           \
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kBool}) {                                         \
    const std::string type(to_text(dtype));                                                                    \
    CAPTURE(type);                                                                                             \
    CAPTURE(#name);                                                                                            \
    GraphBuilder graph("g");                                                                                   \
    const Tensor x = graph.input("x", dtype, {4});                                                             \
    graph.output("y", millrace::name(x, 1));                                                                   \
    graph.output("z", millrace::name(1, x));                                                                   \
    const Result<Graph> built = graph.finish();                                                                \
    const Result<Graph> read =                                                                                 \
        parse_graph("graph g(%x: " + type +                                                                    \
                    "[4]) {\n  %1 = " #name "(%x, 1)\n  %2 = " #name "(1, %x)\n  return y = %1, z = %2\n}\n"); \
    REQUIRE(built.ok() == read.ok());                                                                          \
    if (built.ok()) CHECK(to_text(*read) == to_text(*built));                                                  \
  }
#include "millrace/ops/op_table.inc"
}

TEST_CASE("select and where take a number for either choice, as in C++") {
  const auto same = [](std::string_view call, const auto& build) {
    CAPTURE(call);
    GraphBuilder graph("g");
    const Tensor c = graph.input("c", DType::kBool, {4, 1}), x = graph.input("x", DType::kF32, {4, 1}),
                 y = graph.input("y", DType::kF32, {8});
    graph.output("z", build(c, x, y));
    const std::string text =
        fmt::format("graph g(%c: bool[4x1], %x: f32[4x1], %y: f32[8]) {{\n  %1 = {}\n  return z = %1\n}}\n", call);
    CHECK(read_back(text) == to_text(graph.finish().value()));
  };
  same("select(%c, %x, 0)", [](Tensor c, Tensor x, Tensor) { return select(c, x, 0); });
  same("select(%c, -inf, %x)",
       [](Tensor c, Tensor x, Tensor) { return select(c, -std::numeric_limits<double>::infinity(), x); });
  same("where(%c, %y, 0.5)", [](Tensor c, Tensor, Tensor y) { return where(c, y, 0.5); });
  same("where(%c, 1, %y)", [](Tensor c, Tensor, Tensor y) { return where(c, 1, y); });
}

TEST_CASE("a select with a number has the number in the other choice's dtype and shape") {
  CHECK(read_back("graph g(%c: bool[n in 1..9], %x: i8[n]) {\n  %y = select(%c, %x, 7)\n  return y = %y\n}\n") ==
        "graph g(%c: bool[n in 1..9], %x: i8[n]) {\n"
        "  %2 = constant(7) : i8[]\n"
        "  %3 = broadcast(%2) {shape = [n], dims = []} : i8[n]\n"
        "  %y = select(%c, %x, %3) : i8[n]\n"
        "  return y = %y\n"
        "}\n");
}

TEST_CASE("a number in a text equals the same number in C++") {
  const auto same = [](DType dtype, std::string_view number, const auto& value) {
    CAPTURE(number);
    GraphBuilder graph("g");
    graph.output("y", max(graph.input("x", dtype, {2}), value));
    const std::string text = "graph g(%x: " + std::string(to_text(dtype)) + "[2]) {\n  %1 = max(%x, " +
                             std::string(number) + ")\n  return y = %1\n}\n";
    CHECK(read_back(text) == to_text(graph.finish().value()));
  };
  same(DType::kF32, "0.1", 0.1);
  same(DType::kF16, "-.5", -.5);
  same(DType::kF64, "1e-3", 1e-3);
  same(DType::kF32, "-inf", -std::numeric_limits<double>::infinity());
  same(DType::kF32, "nan", std::numeric_limits<double>::quiet_NaN());
  same(DType::kF32, "-0.0", -0.0);
  same(DType::kI8, "-128", -128);
  same(DType::kI64, "9223372036854775807", std::numeric_limits<std::int64_t>::max());
  same(DType::kU64, "18446744073709551615", std::numeric_limits<std::uint64_t>::max());
  same(DType::kI32, "2.0", 2.0);
}

TEST_CASE("true and false are numbers next to bool operands") {
  CHECK(read_back("graph g(%x: bool[2]) {\n  %y = logical_xor(%x, true)\n  return y = %y\n}\n") ==
        "graph g(%x: bool[2]) {\n"
        "  %1 = constant(true) : bool[]\n"
        "  %2 = broadcast(%1) {shape = [2], dims = []} : bool[2]\n"
        "  %y = logical_xor(%x, %2) : bool[2]\n"
        "  return y = %y\n"
        "}\n");
}

TEST_CASE("operands of one shape need no further nodes, and symbols keep one set of facts") {
  CHECK(read_back("graph g(%x: f32[n in 1..9], %y: f32[n]) {\n  %z = add(%x, %y)\n  return z = %z\n}\n") ==
        "graph g(%x: f32[n in 1..9], %y: f32[n]) {\n"
        "  %z = add(%x, %y) : f32[n]\n"
        "  return z = %z\n"
        "}\n");
}

TEST_CASE("one element of a constant is repeated for all, also if a run binds their number") {
  CHECK(read_back("graph g(%x: f32[rows in 1..64]) {\n"
                  "  %seven = constant(7) : f32[3]\n"
                  "  %zeros = constant(0) : f32[rows]\n"
                  "  %bits = constant(bytes \"0000803f\") : f32[2x2]\n"
                  "  %none = constant(1) : i32[0]\n"
                  "  %one = constant(1) : i32[1]\n"
                  "  %far = constant(18446744073709551615) : u64[2]\n"
                  "  return a = %seven, b = %zeros, c = %bits, d = %none, e = %one, f = %far\n"
                  "}\n") ==
        "graph g(%x: f32[rows in 1..64]) {\n"
        "  %1 = constant(7) : f32[]\n"
        "  %seven = broadcast(%1) {shape = [3], dims = []} : f32[3]\n"
        "  %3 = constant(0) : f32[]\n"
        "  %zeros = broadcast(%3) {shape = [rows], dims = []} : f32[rows]\n"
        "  %5 = constant(1) : f32[]\n"
        "  %bits = broadcast(%5) {shape = [2, 2], dims = []} : f32[2x2]\n"
        "  %7 = constant(1) : i32[]\n"
        "  %none = broadcast(%7) {shape = [0], dims = []} : i32[0]\n"
        "  %one = constant(1) : i32[1]\n"
        "  %10 = constant(18446744073709551615) : u64[]\n"
        "  %far = broadcast(%10) {shape = [2], dims = []} : u64[2]\n"
        "  return a = %seven, b = %zeros, c = %bits, d = %none, e = %one, f = %far\n"
        "}\n");
}

TEST_CASE("a slice without steps takes every element") {
  CHECK(read_back("graph g(%x: f32[4x8]) {\n"
                  "  %y = slice(%x) {start = [1, 0], stop = [4, 8]}\n"
                  "  return y = %y\n"
                  "}\n") ==
        "graph g(%x: f32[4x8]) {\n"
        "  %y = slice(%x) {start = [1, 0], stop = [4, 8], step = [1, 1]} : f32[3x8]\n"
        "  return y = %y\n"
        "}\n");
}

constexpr Mistake kUnfitOperands[] = {
    {"graph g(%x: f32[4x8], %y: f32[4]) {\n  %z = add(%x, %y)\n  return z = %z\n}\n",
     "g.mr:2:8: add: operands are f32[4x8] and f32[4], expected dims that are equal or 1, aligned at the last; reshape "
     "or broadcast one\n"
     "  %z = add(%x, %y)\n"
     "       ^"},
    {"graph g(%x: f32[4], %y: f16[1]) {\n  %z = add(%x, %y)\n  return z = %z\n}\n",
     "g.mr:2:8: add: operand 1 is f16[1], expected f32[4] like operand 0; insert a cast and a broadcast\n"
     "  %z = add(%x, %y)\n"
     "       ^"},
    {"graph g(%x: i32[4]) {\n  %y = add(%x, 0.5)\n  return y = %y\n}\n",
     "g.mr:2:8: add: the number 0.5 next to i32[4], expected one that i32 holds; cast the tensor, or give an integer "
     "in its range\n"
     "  %y = add(%x, 0.5)\n"
     "       ^"},
    {"graph g(%x: i32[4]) {\n  %y = div(%x, 2.0)\n  return y = %y\n}\n",
     "g.mr:2:8: div: the number 2 next to i32[4] is of a C++ floating-point type, expected an integer type in an "
     "integer "
     "division; cast the tensor, or write 2 as an integer\n"
     "  %y = div(%x, 2.0)\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = add(1, 2)\n  return y = %y\n}\n",
     "g.mr:2:15: found '2', expected a value, not a second number; define a constant\n"
     "  %y = add(1, 2)\n"
     "              ^"},
    {"graph g(%x: f32[4]) {\n  %y = add(1)\n  return y = %y\n}\n",
     "g.mr:2:8: add: 1 operand, expected 2 (x, y); pass the missing y\n"
     "  %y = add(1)\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = add(%x, 1, %x)\n  return y = %y\n}\n",
     "g.mr:2:8: add: 3 operands, expected 2 (x, y); leave out the last\n"
     "  %y = add(%x, 1, %x)\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = add(%x, )\n  return y = %y\n}\n",
     "g.mr:2:16: found ')', expected a value; write '%' and its name\n"
     "  %y = add(%x, )\n"
     "               ^"},
    {"graph g(%x: f32[4]) {\n  %y = add(%x, one)\n  return y = %y\n}\n",
     "g.mr:2:16: found 'one', expected a value; write '%' and its name\n"
     "  %y = add(%x, one)\n"
     "               ^"},
    {"graph g(%x: f32[4]) {\n  %y = add(%x, 1e999)\n  return y = %y\n}\n",
     "g.mr:2:16: found 1e999, expected a number that f64 can hold; change the number or the dtype\n"
     "  %y = add(%x, 1e999)\n"
     "               ^"},
    {"graph g(%c: bool[4]) {\n  %y = select(%c, 1, 0)\n  return y = %y\n}\n",
     "g.mr:2:22: found '0', expected a value, not a second number; define a constant\n"
     "  %y = select(%c, 1, 0)\n"
     "                     ^"},
    {"graph g(%x: f32[4]) {\n  %y = where(1, %x, %x)\n  return y = %y\n}\n",
     "g.mr:2:14: found '1', expected a value; write '%' and its name\n"
     "  %y = where(1, %x, %x)\n"
     "             ^"},
    {"graph g(%c: bool[4], %x: u8[4]) {\n  %y = select(%c, %x, -1)\n  return y = %y\n}\n",
     "g.mr:2:8: select: the number -1 next to u8[4], expected one that u8 holds; cast the tensor, or give an integer "
     "in its range\n"
     "  %y = select(%c, %x, -1)\n"
     "       ^"},
    {"graph g(%c: bool[4], %x: i32[4]) {\n  %y = where(%c, 0.5, %x)\n  return y = %y\n}\n",
     "g.mr:2:8: where: the number 0.5 next to i32[4], expected one that i32 holds; cast the tensor, or give an integer "
     "in its range\n"
     "  %y = where(%c, 0.5, %x)\n"
     "       ^"},
    {"graph g(%c: bool[3], %x: f32[4]) {\n  %y = where(%c, %x, 0)\n  return y = %y\n}\n",
     "g.mr:2:8: where: operands are bool[3], f32[4] and f32[4], expected dims that are equal or 1, aligned at the "
     "last; reshape or broadcast one\n"
     "  %y = where(%c, %x, 0)\n"
     "       ^"},
    {"graph g(%c: bool[4]) {\n  %y = where(%c, 0)\n  return y = %y\n}\n",
     "g.mr:2:8: where: 2 operands, expected 3 (condition, if_true, if_false); pass the missing if_false\n"
     "  %y = where(%c, 0)\n"
     "       ^"},
    {"graph g(%c: bool[4]) {\n  %y = select(%c, 0)\n  return y = %y\n}\n",
     "g.mr:2:8: select: 2 operands, expected 3 (condition, if_true, if_false); pass the missing if_false\n"
     "  %y = select(%c, 0)\n"
     "       ^"},
    {"graph g(%x: f32[4]) {\n  %y = exp(1)\n  return y = %y\n}\n",
     "g.mr:2:12: found '1', expected a value; write '%' and its name\n"
     "  %y = exp(1)\n"
     "           ^"},
    {"graph g(%x: f32[4]) {\n  %y = matmul(%x, 2)\n  return y = %y\n}\n",
     "g.mr:2:19: found '2', expected a value; write '%' and its name\n"
     "  %y = matmul(%x, 2)\n"
     "                  ^"},
    {"graph g(%x: f32[n]) {\n  %y = constant(4, 5) : f32[n]\n  return y = %y\n}\n",
     "g.mr:2:25: found f32[n], expected dims that are numbers, as it is a constant; give numbers, or one element that "
     "stands for all\n"
     "  %y = constant(4, 5) : f32[n]\n"
     "                        ^"},
    {"graph g(%x: f32[4x8]) {\n  %y = reduce_sum(%x)\n  return y = %y\n}\n",
     "g.mr:2:8: reduce_sum: expected axes; give it in braces\n"
     "  %y = reduce_sum(%x)\n"
     "       ^"},
};

TEST_CASE("an operand that does not fit a broadcast or a number is reported at its place") {
  expect_errors(kUnfitOperands);
}

}  // namespace
}  // namespace millrace
