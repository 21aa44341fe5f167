// SPDX-License-Identifier: Apache-2.0
// Loads, gathers and stores that a graph refuses of an application's loop nest, with the whole message.
#include <doctest/doctest.h>

#include "tests/graph/kernels/nest_mistakes.h"

namespace millrace {
namespace {

using test::Indices;
using test::one;
using test::own;
using test::own_gather;
using test::own_line;
using test::own_rows;
using test::own_store;

constexpr Misuse kLoads[] = {
    {"too few indices",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         k.store("y", {DType::kF32, {4, 8}}, {m, n}, k.load(k.epilogue(), x, {m}));
       });
     },
     "%1 = kernel own: loop kernel 'own': load 0: 1 indices, expected 2 like f32[4x8]"},
    {"an index beyond a known extent", [](GraphBuilder& g) { own_line(g, 8, 8, [](auto i) { return i + 1; }); },
     "%1 = kernel own: loop kernel 'own': load 0: index 0 runs from 1 to 8, expected inside [0, 8); give it a fill"},
    {"an index below 0", [](GraphBuilder& g) { own_line(g, Dim("n"), Dim("n"), [](auto i) { return i - 1; }); },
     "%1 = kernel own: loop kernel 'own': load 0 of 'x0': index d0 + -1 of dim 0 is not known to stay inside [0, n); "
     "give the load a fill, or promise facts of its symbols, such as at_least()"},
    {"an index that may reach a symbol", [](GraphBuilder& g) { own_line(g, Dim("n"), 8, [](auto i) { return i; }); },
     "%1 = kernel own: loop kernel 'own': load 0 of 'x0': index d0 of dim 0 is not known to stay inside [0, n); give "
     "the load a fill, or promise facts of its symbols, such as at_least()"},
    {"an index that may pass the end",
     [](GraphBuilder& g) { own_line(g, Dim("n"), Dim("n"), [](auto i) { return i * 2; }); },
     "%1 = kernel own: loop kernel 'own': load 0 of 'x0': index 2*d0 of dim 0 is not known to stay inside [0, n); give "
     "the load a fill, or promise facts of its symbols, such as at_least()"},
    {"an extent that may be negative",
     [](GraphBuilder& g) { own_line(g, Dim("n"), SizeExpr(Dim("n")) - 1, [](auto i) { return i; }); },
     "%1 = kernel own: loop kernel 'own': dim d0 'i' has extent n - 1, which may be negative; promise facts of its "
     "symbols, such as at_least()"},
    {"an operand of another builder",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto, auto m, auto n) {
         k.store("y", {DType::kF32, {4, 8}}, {m, n}, k.load(k.epilogue(), OperandId{7}, {m, n}));
       });
     },
     "%1 = kernel own: loop kernel 'own': load: operand 7, expected less than 1; use an id from operand() of this "
     "builder"},
    {"a load into another body",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         BodyBuilder other;
         k.load(other, x, {m, n});
         k.store("y", {DType::kF32, {4, 8}}, {m, n}, one(k.epilogue()));
       });
     },
     "%1 = kernel own: loop kernel 'own': load 'x0': into another body, expected term() or epilogue() of this builder"},
    {"a fill of another dtype",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         k.store("y", {DType::kF32, {4, 8}}, {m, n},
                 k.load(k.epilogue(), x, {m, n + 1}, {.fill = Scalar::of(std::int32_t{0})}));
       });
     },
     "%1 = kernel own: loop kernel 'own': load 0: fill is i32, expected f32"},
    {"a load in the epilogue at a reduction dim",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         k.reduce(ReductionKind::kSum, k.load(k.term(), x, {m, n}));
         k.store("y", {DType::kF32, {4}}, {m}, k.load(k.epilogue(), x, {m, n}));
       });
     },
     "%1 = kernel own: loop kernel 'own': epilogue: %1 = load: load 0 is indexed by a reduction dim"},
};

constexpr Misuse kGathers[] = {
    {"an index that nothing checks",
     [](GraphBuilder& g) { own_gather(g, AffineIndex{}, [](auto&, auto id) { return id; }); },
     "%2 = kernel own: loop kernel 'own': load 1 of 'x0': index 0 of dim 0 adds a value of the body, expected "
     "check_index(value, 100) with nothing added to it; compute the whole index in the body and check it, or give the "
     "load a fill"},
    {"an index that is checked against another extent",
     [](GraphBuilder& g) {
       own_gather(g, AffineIndex{},
                  [](auto& k, auto id) { return k.epilogue().check_index(id, k.extent(k.epilogue(), 101)); });
     },
     "%2 = kernel own: loop kernel 'own': load 1 of 'x0': index 0 of dim 0 adds a value of the body, expected "
     "check_index(value, 100) with nothing added to it; compute the whole index in the body and check it, or give the "
     "load a fill"},
    {"an index that is moved after the check",
     [](GraphBuilder& g) {
       own_gather(g, AffineIndex{1, {}},
                  [](auto& k, auto id) { return k.epilogue().check_index(id, k.extent(k.epilogue(), 100)); });
     },
     "%2 = kernel own: loop kernel 'own': load 1 of 'x0': index 1 of dim 0 adds a value of the body, expected "
     "check_index(value, 100) with nothing added to it; compute the whole index in the body and check it, or give the "
     "load a fill"},
    {"an index computed from a checked one",
     [](GraphBuilder& g) {
       own_gather(g, AffineIndex{}, [](auto& k, auto id) {
         auto& b = k.epilogue();
         return b.add(b.check_index(id, k.extent(b, 100)), b.constant_int(DType::kI64, 1));
       });
     },
     "%2 = kernel own: loop kernel 'own': load 1 of 'x0': index 0 of dim 0 adds a value of the body, expected "
     "check_index(value, 100) with nothing added to it; compute the whole index in the body and check it, or give the "
     "load a fill"},
    {"an index that is not an i64",
     [](GraphBuilder& g) {
       own_gather(g, AffineIndex{}, [](auto& k, auto id) { return k.epilogue().convert(DType::kI32, id); });
     },
     "%2 = kernel own: loop kernel 'own': load 'x0': gather index is i32, expected an i64 of the same body; convert "
     "it"},
    {"a check of an i32",
     [](GraphBuilder& g) {
       own_gather(g, AffineIndex{}, [](auto& k, auto id) {
         auto& b = k.epilogue();
         return b.check_index(b.convert(DType::kI32, id), k.extent(b, 100));
       });
     },
     "%2 = kernel own: loop kernel 'own': the epilogue computes check_index(i32, i64) : i64, which is not supported; "
     "cast the operands, or convert in the body"},
};

constexpr Misuse kStores[] = {
    {"nothing is stored", [](GraphBuilder& g) { own(g, [](auto&&...) {}); },
     "%1 = kernel own: 0 results, expected 1 to 32; add a store"},
    {"a dim that the store does not walk",
     [](GraphBuilder& g) { own_store(g, {4}, [](auto m, auto) { return Indices{m}; }); },
     "%1 = kernel own: loop kernel 'own': store 0: not indexed by d1, so its points overwrite each other"},
    {"a result with more elements than points",
     [](GraphBuilder& g) { own_store(g, {4, 9}, [](auto m, auto n) { return Indices{m, n}; }); },
     "%1 = kernel own: loop kernel 'own': store 0 of 'y': index d1 of dim 1 is not known to count through an extent of "
     "9, each number once; index the result by each dim once, as in [m, n] or [m * 4 + n] with n below 4"},
    {"a store beside its result",
     [](GraphBuilder& g) { own_store(g, {5, 8}, [](auto m, auto n) { return Indices{m + 1, n}; }); },
     "%1 = kernel own: loop kernel 'own': store 0 of 'y': index d0 + 1 of dim 0 is not known to count through an "
     "extent of 5, each number once; index the result by each dim once, as in [m, n] or [m * 4 + n] with n below 4"},
    {"a store outside its result",
     [](GraphBuilder& g) { own_store(g, {4, 8}, [](auto m, auto n) { return Indices{m + 1, n}; }); },
     "%1 = kernel own: loop kernel 'own': store 0: index 0 runs from 1 to 4, expected inside [0, 4)"},
    {"points that share an element",
     [](GraphBuilder& g) { own_store(g, {31}, [](auto m, auto n) { return Indices{m * 7 + n}; }); },
     "%1 = kernel own: loop kernel 'own': store 0 of 'y': index 7*d0 + d1 of dim 0 is not known to count through an "
     "extent of 31, each number once; index the result by each dim once, as in [m, n] or [m * 4 + n] with n below 4"},
    {"points with gaps between them",
     [](GraphBuilder& g) { own_store(g, {35}, [](auto m, auto n) { return Indices{m * 9 + n}; }); },
     "%1 = kernel own: loop kernel 'own': store 0 of 'y': index 9*d0 + d1 of dim 0 is not known to count through an "
     "extent of 35, each number once; index the result by each dim once, as in [m, n] or [m * 4 + n] with n below 4"},
    {"two dims added", [](GraphBuilder& g) { own_store(g, {11}, [](auto m, auto n) { return Indices{m + n}; }); },
     "%1 = kernel own: loop kernel 'own': store 0 of 'y': index d0 + d1 of dim 0 is not known to count through an "
     "extent of 11, each number once; index the result by each dim once, as in [m, n] or [m * 4 + n] with n below 4"},
    {"a dim twice",
     [](GraphBuilder& g) { own_store(g, {4, 32}, [](auto m, auto n) { return Indices{m, m * 8 + n}; }); },
     "%1 = kernel own: loop kernel 'own': store 0 of 'y': index 8*d0 + d1 of dim 1 is not known to count through an "
     "extent of 32, each number once; index the result by each dim once, as in [m, n] or [m * 4 + n] with n below 4"},
    {"too few indices of a store",
     [](GraphBuilder& g) { own_store(g, {4, 8}, [](auto m, auto) { return Indices{m}; }); },
     "%1 = kernel own: loop kernel 'own': store 0: 1 indices, expected 2 like f32[4x8]"},
    {"a store at a reduction dim",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         const BodyValue sum = k.reduce(ReductionKind::kSum, k.load(k.term(), x, {m, n}));
         k.store("y", {DType::kF32, {4, 8}}, {m, n}, sum);
       });
     },
     "%1 = kernel own: loop kernel 'own': store 0: indexed by a reduction dim, expected parallel dims only"},
    {"a value of the term",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto x, auto m, auto n) {
         k.store("y", {DType::kF32, {4}}, {m}, k.load(k.term(), x, {m, n}));
       });
     },
     "%1 = kernel own: loop kernel 'own': store 'y': expected a value of the epilogue; reduce() gives one"},
    {"a value of the epilogue in a pass",
     [](GraphBuilder& g) {
       own_rows(g, [](auto& k, auto, auto m, auto n) {
         k.store_in_pass("y", {DType::kF32, {4, 8}}, {m, n}, one(k.epilogue()));
       });
     },
     "%1 = kernel own: loop kernel 'own': store 'y': expected a value of the current term"},
    {"a value of another dtype",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         k.store("y", {DType::kI32, {4, 8}}, {m, n}, k.load(k.epilogue(), x, {m, n}));
       });
     },
     "%1 = kernel own: loop kernel 'own': epilogue: yield 0 is f32, expected i32"},
    {"a layout of the result",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto x, auto m, auto n) {
         k.store({"y", {DType::kF32, {4, 8}}, {0, {1, 4}}}, {m, n}, k.load(k.epilogue(), x, {m, n}));
       });
     },
     "%1 = kernel own: result 0 has offset 0 strides [1, 4], expected the row-major layout; leave the layout out"},
    {"a result of nine dims",
     [](GraphBuilder& g) {
       own(g, [](auto& k, auto, auto m, auto n) {
         const AffineIndex zero;
         k.store("y", {DType::kF32, {4, 8, 1, 1, 1, 1, 1, 1, 1}}, {m, n, zero, zero, zero, zero, zero, zero, zero},
                 one(k.epilogue()));
       });
     },
     "%1 = kernel own: result 0 is f32[4x8x1x1x1x1x1x1x1], of rank 9, expected 8 or less; reshape it"},
};

TEST_CASE("loads of an own nest stay inside their tensors") { expect_refused(kLoads); }
TEST_CASE("gathers of an own nest check their indices") { expect_refused(kGathers); }
TEST_CASE("stores of an own nest write each element once") { expect_refused(kStores); }

}  // namespace
}  // namespace millrace
