// SPDX-License-Identifier: Apache-2.0
// What else a graph refuses of an application's loop nest, with the whole message.
#include <doctest/doctest.h>

#include "tests/graph/kernels/nest_mistakes.h"

namespace millrace {
namespace {

using test::one;
using test::own;
using test::own_rows;

constexpr Misuse kReductions[] = {
    {"a reduction of the epilogue's value",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto, auto m, auto) {
         k.store("y", {DType::kF32, {4}}, {m}, k.reduce(ReductionKind::kSum, one(k.epilogue())));
       });
     },
     "%1 = kernel own: loop kernel 'own': reduce sum: expected a value of the term; load() it into term()"},
    {"a sum of bools",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         auto& b = k.term();
         const BodyValue is_positive = b.gt(k.load(b, x, {m, n}), b.constant(DType::kF32, 0));
         k.store("y", {DType::kBool, {4}}, {m}, k.reduce(ReductionKind::kSum, is_positive));
       });
     },
     "%1 = kernel own: loop kernel 'own': reduction 0: accumulates in bool, expected an integer, f32 or f64"},
    {"an argmax over two dims",
     [](GraphBuilder& g) {
       g.kernel("own", {f32(g, {4, 8})}, [](auto& k, auto in) {
         const AffineIndex m = k.reduction("m", 4), n = k.reduction("n", 8);
         k.store("y", {DType::kI64, {}}, {}, k.reduce(ReductionKind::kArgMax, k.load(k.term(), in[0], {m, n})));
       });
     },
     "%1 = kernel own: loop kernel 'own': reduction 0: argmax over 2 dims, expected one"},
    {"a parallel dim after a reduction",
     [](GraphBuilder& g) {
       g.kernel("own", {f32(g, {4, 8})}, [](auto& k, auto in) {
         const AffineIndex n = k.reduction("n", 8), m = k.parallel("m", 4);
         k.store("y", {DType::kF32, {4}}, {m}, k.reduce(ReductionKind::kSum, k.load(k.term(), in[0], {m, n})));
       });
     },
     "%1 = kernel own: loop kernel 'own': dim 1 is parallel, expected reduction dims after all parallel ones\nloop "
     "kernel 'own': store 0: indexed by a reduction dim, expected parallel dims only"},
    {"a reduction dim without a reduction",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto, auto m, auto) { k.store("y", {DType::kF32, {4}}, {m}, one(k.epilogue())); });
     },
     "%1 = kernel own: loop kernel 'own': 1 reduction dims but no pass"},
    {"a pass that does nothing",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         const BodyValue sum = k.reduce(ReductionKind::kSum, k.load(k.term(), x, {m, n}));
         k.next_pass();
         k.store("y", {DType::kF32, {4}}, {m}, sum);
       });
     },
     "%1 = kernel own: loop kernel 'own': pass 1: reduces, keeps and stores nothing"},
    {"the result of a reduction in its own pass",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         const BodyValue sum = k.reduce(ReductionKind::kSum, k.load(k.term(), x, {m, n}));
         k.store_in_pass("y", {DType::kF32, {4, 8}}, {m, n}, k.reduced(sum));
       });
     },
     "%1 = kernel own: loop kernel 'own': term: %1 = reduced: of pass 0, expected one of an earlier pass"},
    {"a value that is not a result of a reduction",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         const BodyValue element = k.load(k.term(), x, {m, n});
         k.store_in_pass("y", {DType::kF32, {4, 8}}, {m, n}, k.reduced(element));
       });
     },
     "%1 = kernel own: loop kernel 'own': reduced: expected a result of reduce()"},
    {"a kept value that does not exist",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto, auto m, auto n) {
         k.store_in_pass("y", {DType::kF32, {4, 8}}, {m, n}, k.kept(KeptId{3}));
       });
     },
     "%1 = kernel own: loop kernel 'own': kept: value 3, expected less than 0; use an id from keep()"},
    {"a value kept from the epilogue",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto, auto m, auto n) {
         k.keep(one(k.epilogue()));
         k.store_in_pass("y", {DType::kF32, {4, 8}}, {m, n}, one(k.term()));
       });
     },
     "%1 = kernel own: loop kernel 'own': keep: expected a value of the current term"},
    {"a kept value in its own pass",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         const KeptId kept = k.keep(k.load(k.term(), x, {m, n}));
         k.store_in_pass("y", {DType::kF32, {4, 8}}, {m, n}, k.kept(kept));
       });
     },
     "%1 = kernel own: loop kernel 'own': term: %1 = temporary: of pass 0, expected one of an earlier pass"},
};

constexpr Misuse kBodies[] = {
    {"operands of two dtypes",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         auto& b = k.epilogue();
         k.store("y", {DType::kF32, {4, 8}}, {m, n}, b.add(k.load(b, x, {m, n}), b.constant(DType::kI32, 1)));
       });
     },
     "%1 = kernel own: loop kernel 'own': the epilogue computes add(f32, i32) : f32, which is not supported; cast the "
     "operands, or convert in the body"},
    {"a constant that its dtype cannot hold",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto, auto m, auto n) {
         k.store("y", {DType::kI8, {4, 8}}, {m, n}, k.epilogue().constant(DType::kI8, 300));
       });
     },
     "%1 = kernel own: loop kernel 'own': the epilogue computes constant(300) : i8, which is not supported; cast the "
     "operands, or convert in the body"},
    {"arithmetic of f16",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         auto& b = k.epilogue();
         const BodyValue half = b.convert(DType::kF16, k.load(b, x, {m, n}));
         k.store("y", {DType::kF16, {4, 8}}, {m, n}, b.add(half, half));
       });
     },
     "%1 = kernel own: loop kernel 'own': the epilogue computes add(f16, f16) : f16, which is not supported; cast the "
     "operands, or convert in the body"},
    {"a condition that is not a bool",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         auto& b = k.epilogue();
         const BodyValue element = k.load(b, x, {m, n});
         k.store("y", {DType::kF32, {4, 8}}, {m, n}, b.select(element, element, element));
       });
     },
     "%1 = kernel own: loop kernel 'own': the epilogue computes select(f32, f32, f32) : f32, which is not supported; "
     "cast the operands, or convert in the body"},
    {"a function of floats of an integer",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto, auto m, auto n) {
         auto& b = k.epilogue();
         k.store("y", {DType::kI64, {4, 8}}, {m, n}, math::exp(b, k.index(b, m)));
       });
     },
     "%1 = kernel own: loop kernel 'own': the epilogue computes exp(i64) : i64, which is not supported; cast the "
     "operands, or convert in the body"},
    {"the index of a reduction dim in the epilogue",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         k.reduce(ReductionKind::kSum, k.load(k.term(), x, {m, n}));
         k.store("y", {DType::kI64, {4}}, {m}, k.index(k.epilogue(), n));
       });
     },
     "%1 = kernel own: loop kernel 'own': epilogue: %1 = index: dim 1, expected less than 1"},
};

constexpr Misuse kMore[] = {
    {"an operation of four operands",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         auto& b = k.epilogue();
         const BodyValue element = k.load(b, x, {m, n});
         k.store("y", {DType::kF32, {4, 8}}, {m, n},
                 b.emit(KernelOp::kAdd, DType::kF32, {element, element, element, element}));
       });
     },
     "%1 = kernel own: loop kernel 'own': the epilogue computes add(f32, f32, f32, f32) : f32, which is not supported; "
     "cast the operands, or convert in the body"},
    {"a value of another pass",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         const BodyValue element = k.load(k.term(), x, {m, n});
         k.reduce(ReductionKind::kSum, element);
         auto& b = k.next_pass();
         k.store_in_pass("y", {DType::kF32, {4, 8}}, {m, n}, b.add(element, element));
       });
     },
     "%1 = kernel own: loop kernel 'own': the term computes add(f32, f32) : f32 of a value that this body does not "
     "compute; compute it here, or pass it on with reduced() or kept()"},
    {"an index of a dim that the kernel does not have",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto, auto m, auto n) {
         LoopKernelBuilder other("other");
         other.parallel("a", 2), other.parallel("b", 2);
         const AffineIndex c = other.parallel("c", 2);
         k.store("y", {DType::kF32, {4, 8, 2}}, {m, n, c}, one(k.epilogue()));
       });
     },
     "%1 = kernel own: loop kernel 'own': store 0: index 2 has 3 coefficients, expected 2, one per domain dim"},
    {"a gather along a dim that the operand does not have",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         auto& b = k.epilogue();
         const BodyValue id = b.check_index(k.index(b, m), k.extent(b, 4));
         k.store("y", {DType::kF32, {4, 8}}, {m, n},
                 k.load(b, x, {AffineIndex{}, n}, {.gather_index = id, .gather_dim = 2}));
       });
     },
     "%1 = kernel own: loop kernel 'own': load 0: dynamic dim 2, expected less than 2"},
};

constexpr Misuse kBodiesMixed[] = {
    {"a value of the term in the epilogue",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         const BodyValue element = k.load(k.term(), x, {m, n});
         const BodyValue sum = k.reduce(ReductionKind::kSum, element);
         k.store("y", {DType::kF32, {4}}, {m}, k.epilogue().mul(element, sum));
       });
     },
     "%1 = kernel own: loop kernel 'own': the epilogue computes mul(f32, f32) : f32 of a value that this body does not "
     "compute; compute it here, or pass it on with reduced() or kept()"},
    {"the result of a reduction in a pass, without reduced()",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         const BodyValue sum = k.reduce(ReductionKind::kSum, k.load(k.term(), x, {m, n}));
         auto& b = k.next_pass();
         k.store_in_pass("y", {DType::kF32, {4, 8}}, {m, n}, b.div(k.load(b, x, {m, n}), sum));
       });
     },
     "%1 = kernel own: loop kernel 'own': the term computes div(f32, f32) : f32 of a value that this body does not "
     "compute; compute it here, or pass it on with reduced() or kept()"},
    {"a value of the term as a result of a reduction",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         const BodyValue element = k.load(k.term(), x, {m, n});
         k.reduce(ReductionKind::kSum, element);
         k.next_pass();
         k.store_in_pass("y", {DType::kF32, {4, 8}}, {m, n}, k.reduced(element));
       });
     },
     "%1 = kernel own: loop kernel 'own': reduced: expected a result of reduce()"},
    {"the kernel is finished by its author",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         k.store("y", {DType::kF32, {4, 8}}, {m, n}, k.load(k.epilogue(), x, {m, n}));
         k.finish().value();
       });
     },
     "%1 = kernel own: loop kernel: finish() is called twice; call it once, and not at all where GraphBuilder::kernel "
     "builds the kernel"},
    {"33 results",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto, auto m, auto n) {
         for (int i = 0; i < 33; ++i) k.store("y", {DType::kF32, {4, 8}}, {m, n}, one(k.epilogue()));
       });
     },
     "%1 = kernel own: 33 results, expected 1 to 32; make it several kernels"},
    {"a window so wide that its index would overflow",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         const LoadOptions options{.fill = Scalar::of(0.0f)};
         const AffineIndex far = m * (std::int64_t{1} << 31);
         k.store("y", {DType::kF32, {4, 8}}, {m, n}, k.load(k.epilogue(), x, {far, n}, options));
       });
     },
     "%1 = kernel own: loop kernel 'own': load 0 of 'x0': index 2147483648*d0 of dim 0 has numbers of 2^31 and more, "
     "expected smaller ones; correct it"},
};

constexpr Misuse kCalls[] = {
    {"no name", [](GraphBuilder& g) { g.kernel("", {f32(g, {4})}, [](auto&, auto) {}); },
     "%1 = kernel : the name is empty; give every kernel a name"},
    {"an operand of its own",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto, auto m, auto n) {
         const OperandId more = k.operand("more", {DType::kF32, {4, 8}});
         k.store("y", {DType::kF32, {4, 8}}, {m, n}, k.load(k.epilogue(), more, {m, n}));
       });
     },
     "%1 = kernel own: 1 operands, expected 2 as in its loop nest; pass one per operand, and add none to the nest"},
    {"an input of another graph",
     [](GraphBuilder& g) {
       GraphBuilder other("other");
       test::double_nest(g, f32(other, {4}));
     },
     "%0 = kernel double_it: operand 0 belongs to another graph; build both in one GraphBuilder"},
    {"a result that does not exist", [](GraphBuilder& g) { g.output("y", test::double_nest(g, f32(g, {4}))[1]); },
     "%1 = kernel double_it: result 1, expected less than 1, the number of its stores"},
    {"two results as one tensor", [](GraphBuilder& g) { g.output("y", test::quantise_nest(g, f32(g, {2, 32}), 16)); },
     "%1 = kernel quantise: 2 results are used as one tensor; choose one by its number"},
    {"a kernel of another type",
     [](GraphBuilder& g) {
       LoopKernelBuilder k("own");
       const AffineIndex i = k.parallel("i", 4);
       k.store("y", {DType::kF32, {4}}, {i}, k.load(k.epilogue(), k.operand("x", {DType::kF32, {4}}), {i}));
       g.kernel(k.finish().value(), {f32(g, {8})});
     },
     "%1 = kernel own: operand 0 is f32[8], expected f32[4] as in its loop nest; pass that type"},
    {"a kernel in place",
     [](GraphBuilder& g) {
       LoopKernelBuilder k("own");
       const AffineIndex i = k.parallel("i", 4);
       k.store("y", {DType::kF32, {4}}, {i}, k.load(k.epilogue(), k.operand("x", {DType::kF32, {4}}), {i}));
       LoopKernel nest = k.finish().value();
       nest.in_place = 0;
       g.kernel(std::move(nest), {f32(g, {4})});
     },
     "%1 = kernel own: it is in place; leave that to the compiler"},
    {"facts that contradict those of an input",
     [](GraphBuilder& g) {
       const Tensor x = f32(g, {Dim("n").at_least(2)});
       g.kernel("own", {x}, [](auto& k, auto in) {
         const AffineIndex i = k.parallel("i", Dim("n").at_least(4));
         k.store("y", {DType::kF32, {Dim("n").at_least(4)}}, {i}, k.load(k.epilogue(), in[0], {i}));
       });
     },
     "%1 = kernel own: dim 'n': promised n in 2.., expected n in 4.. as elsewhere; state the same facts everywhere"},
};

TEST_CASE("reductions and passes of an own nest") { expect_refused(kReductions); }
TEST_CASE("bodies of an own nest") { expect_refused(kBodies); }
TEST_CASE("operations, indices and passes of an own nest") { expect_refused(kMore); }
TEST_CASE("values of another body of an own nest, and more") { expect_refused(kBodiesMixed); }
TEST_CASE("calls with an own nest") { expect_refused(kCalls); }

}  // namespace
}  // namespace millrace
