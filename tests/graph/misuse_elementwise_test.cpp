// SPDX-License-Identifier: Apache-2.0
// Calls that elementwise ops, and the op table as a whole, refuse.
#include <doctest/doctest.h>

#include "millrace/ops/bodies.h"
#include "tests/graph/misuse.h"

namespace millrace {
namespace {

constexpr Misuse kOperandCounts[] = {
    {"none for one", [](GraphBuilder& g) { g.op1(Op::exp, {}); },
     "%0 = exp: 0 operands, expected 1 (x); pass the missing x"},
    {"two for one",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       g.op1(Op::exp, {x, x});
     },
     "%1 = exp: 2 operands, expected 1 (x); leave out the last"},
    {"one for two", [](GraphBuilder& g) { g.op1(Op::add, {f32(g, {4})}); },
     "%1 = add: 1 operand, expected 2 (x, y); pass the missing y"},
    {"two for three",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       g.op1(Op::select, {x, x});
     },
     "%1 = select: 2 operands, expected 3 (condition, if_true, if_false); pass the missing if_false"},
    {"none for any number", [](GraphBuilder& g) { g.op1(Op::concat, {}, AxisAttrs{}); },
     "%0 = concat: 0 operands, expected 1 or more (x, y, ...); pass the missing x"},
    {"one for none", [](GraphBuilder& g) { g.op1(Op::iota, {f32(g, {4})}, IotaAttrs{}); },
     "%1 = iota: 1 operand, expected 0; leave out the last"},
};

constexpr Misuse kAttributes[] = {
    {"none for some", [](GraphBuilder& g) { g.op1(Op::cast, {f32(g, {4})}); },
     "%1 = cast: attributes are NoAttrs, expected CastAttrs; pass what cast takes"},
    {"some for none", [](GraphBuilder& g) { g.op1(Op::exp, {f32(g, {4})}, AxisAttrs{0}); },
     "%1 = exp: attributes are AxisAttrs, expected NoAttrs; pass what exp takes"},
    {"another op's", [](GraphBuilder& g) { g.op(Op::topk, std::vector{f32(g, {4})}, SortAttrs{}); },
     "%1 = topk: attributes are SortAttrs, expected TopKAttrs; pass what topk takes"},
};

constexpr Misuse kArithmeticTypes[] = {
    {"a fraction as an operand of integers", [](GraphBuilder& g) { i32(g, {4}) * 2.7; },
     "%1 = mul: the number 2.7 next to i32[4], expected one that i32 holds; cast the tensor, or give an integer in its "
     "range"},
    {"a number beyond the integers", [](GraphBuilder& g) { 1e20 + i32(g, {4}); },
     "%1 = add: the number 1e+20 next to i32[4], expected one that i32 holds; cast the tensor, or give an integer in "
     "its "
     "range"},
    {"integers by a C++ floating-point number", [](GraphBuilder& g) { i32(g, {4}) / 2.0; },
     "%1 = div: the number 2 next to i32[4] is of a C++ floating-point type, expected an integer type in an integer "
     "division; cast the tensor, or write 2 as an integer"},
    {"shapes that do not meet", [](GraphBuilder& g) { f32(g, {4, 8}) + g.input("y", DType::kF32, {4}); },
     "%2 = add: operands are f32[4x8] and f32[4], expected dims that are equal or 1, aligned at the last; reshape or "
     "broadcast one"},
    {"symbols that differ", [](GraphBuilder& g) { f32(g, {Dim("n")}) * g.input("y", DType::kF32, {Dim("m")}); },
     "%2 = mul: operands are f32[n] and f32[m], expected dims that are equal or 1, aligned at the last; reshape or "
     "broadcast one"},
    {"a symbol with two sets of facts",
     [](GraphBuilder& g) { f32(g, {Dim("n")}) * g.input("y", DType::kF32, {Dim("n").at_most(4)}); },
     "%2 = mul: dim 'n': promised n in 0..4, expected n in 0.. as elsewhere; state the same facts everywhere"},
    {"a symbol with two sets of facts, in an op without broadcasting",
     [](GraphBuilder& g) {
       select(g.input("c", DType::kBool, {Dim("n")}), f32(g, {Dim("n").at_least(1)}),
              g.input("z", DType::kF32, {Dim("n").at_least(1)}));
     },
     "%3 = select: dim 'n': promised n in 1.., expected n in 0.. as elsewhere; state the same facts everywhere"},
    {"dtypes differ", [](GraphBuilder& g) { f32(g, {4}) * i32(g, {4}); },
     "%2 = mul: operand 1 is i32[4], expected f32[4] like operand 0; insert a cast"},
    {"both differ", [](GraphBuilder& g) { max(f32(g, {4, 8}), i32(g, {8})); },
     "%2 = max: operand 1 is i32[8], expected f32[4x8] like operand 0; insert a cast and a broadcast"},
    {"bool has no sum",
     [](GraphBuilder& g) {
       Tensor b = flag(g, {4});
       b + b;
     },
     "%1 = add: operand 0 is bool[4], expected an integer or a float; insert a cast"},
    {"exp of integers", [](GraphBuilder& g) { exp(i32(g, {4})); },
     "%1 = exp: operand 0 is i32[4], expected a float; insert a cast"},
    {"bit_cast to a wider dtype", [](GraphBuilder& g) { bit_cast(i32(g, {4}), DType::kF64); },
     "%1 = bit_cast: operand 0 is i32[4] and dtype f64, expected dtypes of one size, neither of them bool; choose "
     "another, or insert a cast"},
    {"sin of unsigned integers", [](GraphBuilder& g) { sin(g.input("u", DType::kU16, {4})); },
     "%1 = sin: operand 0 is u16[4], expected a float; insert a cast"},
    {"rem of bool",
     [](GraphBuilder& g) {
       Tensor b = flag(g, {4});
       rem(b, b);
     },
     "%1 = rem: operand 0 is bool[4], expected an integer or a float; insert a cast"},
    {"pow of integers",
     [](GraphBuilder& g) {
       Tensor i = i32(g, {4});
       pow(i, i);
     },
     "%1 = pow: operand 0 is i32[4], expected a float; insert a cast"},
    {"neg of bool", [](GraphBuilder& g) { -flag(g, {}); },
     "%1 = neg: operand 0 is bool[], expected an integer or a float; insert a cast"},
    {"clamp of integers to a fraction", [](GraphBuilder& g) { clamp(i32(g, {4}), 0, 2.5); },
     "clamp: the bound 2.5 for i32[4], expected an integer; cast the tensor"},
    {"group_norm without channels",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       group_norm(x, 2, x, x);
     },
     "group_norm: operand 0 is f32[4], expected channels in dim 1; reshape it"},
    {"group_norm of channels that its groups do not divide",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {2, 5, 3});
       group_norm(x, 2, x, x);
     },
     "group_norm: groups is 2, expected a positive divisor of the channels in dim 1 of operand 0, f32[2x5x3]; correct "
     "it"},
    {"where of shapes that do not meet",
     [](GraphBuilder& g) { where(flag(g, {4}), f32(g, {3}), g.input("y", DType::kF32, {4})); },
     "where: operands are bool[4], f32[3] and f32[4], expected dims that are equal or 1, aligned at the last; reshape "
     "or broadcast one"},
    {"layer_norm scaled by another length",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4, 8});
       Tensor s = g.input("s", DType::kF32, {4});
       layer_norm(x, s, s);
     },
     "layer_norm: scale is f32[4], expected f32 that broadcasts to operand 0, f32[4x8]; reshape or cast it"},
};

constexpr Misuse kLogicTypes[] = {
    {"order of bools",
     [](GraphBuilder& g) {
       Tensor b = flag(g, {4});
       less(b, b);
     },
     "%1 = less: operand 0 is bool[4], expected an integer or a float; insert a cast"},
    {"equality of bool and u8", [](GraphBuilder& g) { equal(flag(g, {4}), g.input("u", DType::kU8, {4})); },
     "%2 = equal: operand 1 is u8[4], expected bool[4] like operand 0; insert a cast"},
    {"logic of floats",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       logical_and(x, x);
     },
     "%1 = logical_and: operand 0 is f32[4], expected bool or an integer; insert a cast"},
    {"a condition that is a number",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       select(x, x, x);
     },
     "%1 = select: operand 0 is f32[4], expected bool; insert a cast"},
    {"arms that differ", [](GraphBuilder& g) { select(flag(g, {4}), f32(g, {4}), i32(g, {4})); },
     "%3 = select: operand 2 is i32[4], expected f32[4] like operand 1; insert a cast"},
    {"a condition of another shape",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {8});
       select(flag(g, {4}), x, x);
     },
     "%2 = select: operand 1 is f32[8], expected f32[4] in the shape of operand 0; insert a broadcast"},
    {"cast to no dtype", [](GraphBuilder& g) { cast(f32(g, {4}), static_cast<DType>(99)); },
     "%1 = cast: result 0 has dtype number 99, expected less than 13; use a name of DType"},
    {"bit_cast to no dtype", [](GraphBuilder& g) { bit_cast(f32(g, {4}), static_cast<DType>(99)); },
     "%1 = bit_cast: result 0 has dtype number 99, expected less than 13; use a name of DType"},
};

struct Double {
  static auto emit(auto& b, auto x) { return b.add(x[0], x[0]); }
};
struct Halve {  // right for floats only
  static auto emit(auto& b, auto x) { return b.mul(x[0], b.constant(DType::kF32, 0.5)); }
};
struct Exp {
  static auto emit(auto& b, auto x) { return math::exp(b, x[0]); }
};
struct ExpOfHalf {
  static auto emit(auto& b, auto x) { return math::exp(b, b.convert(DType::kF16, x[0])); }
};
struct Quarter {
  static auto emit(auto& b, auto x) { return b.mul(x[0], b.constant_like(x[0], 0.25)); }
};
struct ChooseHalf {
  static auto emit(auto& b, auto x) {
    auto half = b.convert(DType::kF16, x[0]);
    return b.select(b.gt(x[0], x[0]), half, half);
  }
};
struct OneHalf {
  static auto emit(auto& b, auto) { return b.constant(DType::kF16, 1); }
};
struct Plus300 {
  static auto emit(auto& b, auto x) { return b.add(x[0], b.constant_like(x[0], 300)); }
};
struct Minus1 {
  static auto emit(auto& b, auto x) { return b.add(x[0], b.constant_like(x[0], -1)); }
};
struct Plus1e30 {
  static auto emit(auto& b, auto x) { return b.add(x[0], b.constant_like(x[0], 1e30)); }
};
struct Or2 {
  static auto emit(auto& b, auto x) { return b.bit_or(x[0], b.constant(DType::kBool, 2)); }
};
struct Sum {
  static auto emit(auto& b, auto x) { return b.add(x[0], x[1]); }
};

constexpr Misuse kOwnKernels[] = {
    {"nothing to read", [](GraphBuilder& g) { g.custom(make_custom_kernel<Double>("double"), {}); },
     "%0 = kernel double: 0 operands, expected 1 or more; pass what the body reads"},
    {"shapes differ", [](GraphBuilder& g) { g.kernel<Sum>("sum", f32(g, {4}), g.input("y", DType::kF32, {5})); },
     "%2 = kernel sum: operand 1 is f32[5], expected shape [4] like operand 0; insert a broadcast"},
    {"an operand that was not passed", [](GraphBuilder& g) { g.kernel<Sum>("sum", f32(g, {4})); },
     "%1 = kernel sum: the body reads x[1], expected an index below 1, the number of its operands; correct the index, "
     "or pass more operands"},
    {"a body that does not take the dtype", [](GraphBuilder& g) { g.kernel<Halve>("halve", i32(g, {4})); },
     "%1 = kernel halve: the body computes mul(i32, f32) : i32, which is not supported; cast the "
     "operands, or convert in the body"},
    {"a body that does not take the dtypes together",
     [](GraphBuilder& g) { g.kernel<Sum>("sum", f32(g, {4}), i32(g, {4})); },
     "%2 = kernel sum: the body computes add(f32, i32) : f32, which is not supported; cast the operands, "
     "or "
     "convert in the body"},
    {"math on floats with integers", [](GraphBuilder& g) { g.kernel<Exp>("mine", i32(g, {4})); },
     "%1 = kernel mine: the body computes exp(i32) : i32, which is not supported; cast the operands, or "
     "convert in the body"},
    {"math on floats with a float that no register holds",
     [](GraphBuilder& g) { g.kernel<ExpOfHalf>("mine", f32(g, {4})); },
     "%1 = kernel mine: the body computes exp(f16) : f16, which is not supported; cast the operands, or "
     "convert in the body"},
    {"a fraction as an integer", [](GraphBuilder& g) { g.kernel<Quarter>("quarter", i32(g, {4})); },
     "%1 = kernel quarter: the body computes constant(0.25) : i32, which is not supported; cast the "
     "operands, or convert in the body"},
    {"a choice of floats that no register holds", [](GraphBuilder& g) { g.kernel<ChooseHalf>("mine", f32(g, {4})); },
     "%1 = kernel mine: the body computes select(bool, f16, f16) : f16, which is not supported; cast the "
     "operands, or convert in the body"},
    {"a constant that no register holds", [](GraphBuilder& g) { g.kernel<OneHalf>("mine", f32(g, {4})); },
     "%1 = kernel mine: the body computes constant(1) : f16, which is not supported; cast the operands, or "
     "convert in the body"},
    {"a number above u8", [](GraphBuilder& g) { g.kernel<Plus300>("mine", g.input("x", DType::kU8, {4})); },
     "%1 = kernel mine: the body computes constant(300) : u8, which is not supported; cast the operands, "
     "or convert in the body"},
    {"a number below u8", [](GraphBuilder& g) { g.kernel<Minus1>("mine", g.input("x", DType::kU8, {4})); },
     "%1 = kernel mine: the body computes constant(-1) : u8, which is not supported; cast the operands, or "
     "convert in the body"},
    {"a number above i32", [](GraphBuilder& g) { g.kernel<Plus1e30>("mine", i32(g, {4})); },
     "%1 = kernel mine: the body computes constant(1e+30) : i32, which is not supported; cast the "
     "operands, or convert in the body"},
    {"a number that is no bool", [](GraphBuilder& g) { g.kernel<Or2>("mine", flag(g, {4})); },
     "%1 = kernel mine: the body computes constant(2) : bool, which is not supported; cast the operands, "
     "or convert in the body"},
    {"a kernel made by hand", [](GraphBuilder& g) { g.custom({"empty"}, {f32(g, {4})}); },
     "%1 = kernel empty: the kernel has no body; make it with make_custom_kernel<Body>()"},
    {"no name", [](GraphBuilder& g) { g.kernel<Double>("", f32(g, {4})); },
     "%1 = kernel : the name is empty; give every kernel a name"},
    {"an operand of another graph",
     [](GraphBuilder& g) {
       static GraphBuilder other;
       g.kernel<Double>("double", f32(other, {4}));
     },
     "%0 = kernel double: operand 0 belongs to another graph; build both in one GraphBuilder"},
};

TEST_CASE("an op takes the number of operands of its row") { expect_refused(kOperandCounts); }
TEST_CASE("an op takes its own attributes") { expect_refused(kAttributes); }
TEST_CASE("arithmetic takes operands of one type and of its dtypes") { expect_refused(kArithmeticTypes); }
TEST_CASE("comparison, logic, select and cast refuse other types") { expect_refused(kLogicTypes); }
TEST_CASE("an application's kernel is refused if it does not fit") { expect_refused(kOwnKernels); }

TEST_CASE("an unknown op is refused by number") {
  GraphBuilder graph;
  graph.op1(static_cast<Op>(200), {f32(graph, {4})});
  const std::string all = std::to_string(std::size(kAllOps));
  CHECK(graph.finish().status().message() == "%1 = op number 200, expected less than " + all + "; use a name of Op");
}

}  // namespace
}  // namespace millrace
