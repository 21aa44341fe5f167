// SPDX-License-Identifier: Apache-2.0
// Calls that GraphBuilder refuses: names, types, constants, tensors of another builder, and use after finish().
#include <limits>

#include <doctest/doctest.h>

#include "tests/graph/misuse.h"

namespace millrace {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr float kThree[] = {1, 2, 3};

/// A graph that outlives the cases, with one input.
Tensor foreign() {
  static GraphBuilder other("other");
  static const Tensor x = f32(other, {4});
  return x;
}

constexpr Misuse kInputs[] = {
    {"no name", [](GraphBuilder& g) { g.input("", DType::kF32, {4}); },
     "%0 = input '': the name is empty; give every input a name"},
    {"a name twice",
     [](GraphBuilder& g) {
       f32(g, {4});
       f32(g, {4});
     },
     "%1 = input 'x': the name is taken; give every input its own"},
    {"rank 9", [](GraphBuilder& g) { f32(g, {1, 1, 1, 1, 1, 1, 1, 1, 1}); },
     "%0 = input 'x': the type is f32[1x1x1x1x1x1x1x1x1], of rank 9, expected 8 or less; reshape it"},
    {"a negative extent", [](GraphBuilder& g) { f32(g, {4, -1}); },
     "%0 = input 'x': the type is f32[4x-1], expected extents of 0 or more; correct the extent"},
    {"2^48 elements", [](GraphBuilder& g) { f32(g, {1 << 24, 1 << 24}); },
     "%0 = input 'x': the type is f32[16777216x16777216], expected fewer than 2^48 elements; divide it"},
    {"more elements than int64 counts", [](GraphBuilder& g) { f32(g, {kMax, kMax}); },
     "%0 = input 'x': the type is f32[9223372036854775807x9223372036854775807], expected fewer than 2^48 elements; "
     "divide it"},
    {"a dim that is too long",
     [](GraphBuilder& g) {
       SizeExpr size = Dim("n");
       for (int i = 2; i < 70; ++i) size = max(floor_div(size, i), 3 - size);
       f32(g, {size});
     },
     "%0 = input 'x': the type has a dim with 500 parts or more when multiplied out, or 64 levels deep; use a symbol "
     "for "
     "it"},
    {"an element count of very many terms",
     [](GraphBuilder& g) {
       const SizeExpr sum = SizeExpr(Dim("a")) + Dim("b") + Dim("c") + 1;
       f32(g, {sum, sum, sum, sum, sum, sum, sum, sum});
     },
     "%0 = input 'x': the type is f32[a + b + c + 1, a + b + c + 1, a + b + c + 1, a + b + c + 1, a + b + c + 1, "
     "a + b + c + 1, a + b + c + 1, a + b + c + 1], expected an element count of at most 4096 terms when it is "
     "multiplied out; use a symbol for a long sum"},
    {"no dtype", [](GraphBuilder& g) { g.input("x", static_cast<DType>(99), {4}); },
     "%0 = input 'x': the type has dtype number 99, expected less than 13; use a name of DType"},
    {"a dim without a name", [](GraphBuilder& g) { g.output("y", f32(g, {Dim("")})); },
     "%0 = input: dim '': found this name, expected a letter or '_', then letters, digits, '_' or '.'; rename it"},
    {"facts that no value keeps",
     [](GraphBuilder& g) { g.output("y", f32(g, {Dim("n").at_least(5).at_most(7).multiple_of(4)})); },
     "%0 = input: dim 'n': no value keeps n in 5..7 multiple_of 4, expected at least one; loosen a fact"},
    {"a dim with two sets of facts",
     [](GraphBuilder& g) {
       f32(g, {Dim("n")});
       g.output("y", g.input("y", DType::kF32, {Dim("n").at_least(1)}));
     },
     "%1 = input: dim 'n': promised n in 1.., expected n in 0.. as elsewhere; state the same facts everywhere"},
    {"an attribute with other facts than the input",
     [](GraphBuilder& g) {
       f32(g, {Dim("k").at_most(4)});
       g.output("y", topk(g.input("z", DType::kF32, {8}), Dim("k").at_most(8)).values);
     },
     "%2 = topk: dim 'k': promised k in 0..8, expected k in 0..4 as elsewhere; state the same facts everywhere"},
};

constexpr Misuse kConstants[] = {
    {"too few elements", [](GraphBuilder& g) { g.constant<float>({2, 2}, kThree); },
     "%0 = constant: 12 bytes given, expected 16 for f32[2x2]; give every element once"},
    {"too many elements", [](GraphBuilder& g) { g.constant<float>({}, kThree); },
     "%0 = constant: 12 bytes given, expected 4 for f32[]; give every element once"},
    {"elements for a shape without any", [](GraphBuilder& g) { g.constant<float>({3, 0}, kThree); },
     "%0 = constant: 12 bytes given, expected 0 for f32[3x0]; give every element once"},
    {"extents that are negative together", [](GraphBuilder& g) { g.constant<float>({-1, -3}, kThree); },
     "%0 = constant: the type is f32[-1x-3], expected extents of 0 or more; correct the extent"},
    {"extents whose product leaves int64", [](GraphBuilder& g) { g.constant<float>({kMax, 2}, kThree); },
     "%0 = constant: the type is f32[9223372036854775807x2], expected fewer than 2^48 elements; divide it"},
    {"a dim that is not known", [](GraphBuilder& g) { g.constant<float>({Dim("n").at_most(3)}, kThree); },
     "%0 = constant: the type is f32[n], expected dims that are numbers; give numbers"},
    {"rank 9", [](GraphBuilder& g) { g.constant<float>({1, 1, 1, 1, 1, 1, 1, 1, 3}, kThree); },
     "%0 = constant: the type is f32[1x1x1x1x1x1x1x1x3], of rank 9, expected 8 or less; reshape it"},
    {"a fill of negative extent", [](GraphBuilder& g) { g.fill(DType::kF32, {-2}, 0); },
     "%0 = fill: the type is f32[-2], expected extents of 0 or more; correct the extent"},
    {"a fill of no dtype", [](GraphBuilder& g) { g.fill(static_cast<DType>(13), {2}, 0); },
     "%0 = fill: the type has dtype number 13, expected less than 13; use a name of DType"},
};

constexpr Misuse kTensors[] = {
    {"an empty operand", [](GraphBuilder& g) { f32(g, {4}) + Tensor(); },
     "%1 = add: operand 1 is an empty tensor; use one that a builder returned"},
    {"an empty operand in front", [](GraphBuilder& g) { select(Tensor(), f32(g, {4}), Tensor()); },
     "%1 = select: operand 0 is an empty tensor; use one that a builder returned"},
    {"an empty tensor in a list", [](GraphBuilder& g) { concat(std::vector{f32(g, {4}), Tensor()}, 0); },
     "%1 = concat: operand 1 is an empty tensor; use one that a builder returned"},
    {"a product with nothing", [](GraphBuilder& g) { matmul(f32(g, {4, 4}), Tensor()); },
     "matmul: operand 1 is an empty tensor; use one that a builder returned"},
    {"a norm without a scale",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4, 8});
       layer_norm(x, Tensor(), x);
     },
     "layer_norm: operand 1 is an empty tensor; use one that a builder returned"},
    {"another graph's operand", [](GraphBuilder& g) { f32(g, {4}) * foreign(); },
     "%1 = mul: operand 1 belongs to another graph; build both in one GraphBuilder"},
    {"a finished graph's operand",
     [](GraphBuilder& g) {
       static GraphBuilder done;
       Tensor x = f32(done, {4});
       done.output("x", x);
       CHECK(done.finish().ok());
       f32(g, {4}) * x;
     },
     "%1 = mul: operand 1 belongs to another graph; build both in one GraphBuilder"},
    {"an output of another graph", [](GraphBuilder& g) { g.output("y", foreign()); },
     "output 'y': the tensor belongs to another graph; build both in one GraphBuilder"},
    {"an empty output", [](GraphBuilder& g) { g.output("y", Tensor()); },
     "output 'y': the tensor is an empty tensor; use one that a builder returned"},
    {"the result of a mistake is passed on, and the first mistake is reported",
     [](GraphBuilder& g) {
       Tensor wrong = f32(g, {4}) + i32(g, {4});
       CHECK_FALSE(wrong.is_valid());
       CHECK_FALSE(softmax(relu(wrong * 2.0) + wrong).is_valid());
       CHECK_FALSE(layer_norm(wrong, wrong, wrong).is_valid());
       CHECK_FALSE(matmul(wrong, gelu(wrong)).is_valid());
       CHECK_FALSE(topk(wrong, 1).indices.is_valid());
       CHECK_FALSE(broadcast_to(1.0 / wrong, {4}).is_valid());
       CHECK_FALSE(g.input("later", DType::kF32, {4}).is_valid());
       CHECK_FALSE(g.fill(DType::kF32, {4}, 1).is_valid());
       g.output("", wrong);
     },
     "%2 = add: operand 1 is i32[4], expected f32[4] like operand 0; insert a cast"},
};

constexpr Misuse kOutputs[] = {
    {"none", [](GraphBuilder& g) { exp(f32(g, {4})); }, "the graph has no output; name what it computes with output()"},
    {"nothing at all", [](GraphBuilder&) {}, "the graph has no output; name what it computes with output()"},
    {"no name", [](GraphBuilder& g) { g.output("", f32(g, {4})); },
     "output '': the name is empty; give every output a name"},
    {"a name twice",
     [](GraphBuilder& g) {
       Tensor x = f32(g, {4});
       g.output("y", x);
       g.output("y", exp(x));
     },
     "output 'y': the name is taken; give every output its own"},
    {"an application's own mistake", [](GraphBuilder& g) { g.fail(invalid_argument("mine: 1, expected 2")); },
     "mine: 1, expected 2"},
};

TEST_CASE("an input has a name of its own and a type within limits") { expect_refused(kInputs); }
TEST_CASE("a constant has every element of a constant shape") { expect_refused(kConstants); }
TEST_CASE("tensors belong to the builder that is called") { expect_refused(kTensors); }
TEST_CASE("a graph has outputs with names of their own") { expect_refused(kOutputs); }

TEST_CASE("a finished builder takes nothing more, and its tensors are no longer valid") {
  GraphBuilder graph("once");
  Tensor x = f32(graph, {4});
  const ValuesAndIndices top = topk(x, 2);
  graph.output("y", top.indices);
  REQUIRE(graph.finish().ok());
  CHECK_FALSE(x.is_valid());
  CHECK_FALSE(graph.input("z", DType::kF32, {4}).is_valid());
  CHECK_FALSE(top.indices.is_valid());  // though node 0 would be the new input
  CHECK_FALSE(relu(x + 1.0).is_valid());
  CHECK_FALSE(graph.op1(Op::exp, {x}).is_valid());
  CHECK_FALSE(graph.fill(DType::kF32, {}, 1).is_valid());
  graph.output("y", x);
  CHECK(graph.finish().status().message() == "graph 'once' is finished; start another GraphBuilder");
  CHECK(graph.status().code() == StatusCode::kFailedPrecondition);
}

TEST_CASE("functions of only empty tensors give empty tensors") {
  const Tensor none;
  CHECK(none.type().to_text() == "f32[]");
  CHECK_FALSE((none + none).is_valid());
  CHECK_FALSE((none + 1.0).is_valid());
  CHECK_FALSE(softmax(none).is_valid());
  CHECK_FALSE(layer_norm(none, none, none).is_valid());
  CHECK_FALSE(concat({}, 0).is_valid());
  CHECK_FALSE(sort(none).values.is_valid());
}

}  // namespace
}  // namespace millrace
