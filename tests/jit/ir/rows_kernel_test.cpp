// SPDX-License-Identifier: Apache-2.0
// Loop kernels with several passes: how they are built, printed, read, simplified and verified. Text that does not
// parse is in tests/jit/kernels/parse_passes.kernel.
#include <doctest/doctest.h>

#include "millrace/jit/loop_kernel_builder.h"
#include "tests/support/kernels/kernel_round_trip.h"

namespace millrace {
namespace {

/// Softmax with x - maximum in the place of its exponential. Three passes: the maximum, the sum, the quotients.
LoopKernel softmax(const SizeExpr& rows) {
  LoopKernelBuilder nest("softmax");
  const TensorType type{DType::kF32, {rows, 5}};
  const AffineIndex m = nest.parallel("m", rows), n = nest.reduction("n", 5);
  const OperandId x = nest.operand("x", type);
  const BodyValue maximum = nest.reduce(ReductionKind::kMax, nest.load(nest.term(), x, {m, n}));
  BodyBuilder& second = nest.next_pass();
  const BodyValue element = nest.load(second, x, {m, n});
  const BodyValue difference = second.sub(element, nest.reduced(maximum));
  const KeptId kept = nest.keep(difference);
  const BodyValue sum = nest.reduce(ReductionKind::kSum, difference);
  BodyBuilder& third = nest.next_pass();
  const BodyValue numerator = nest.kept(kept);
  nest.store_in_pass("y", type, {m, n}, third.div(numerator, nest.reduced(sum)));
  return nest.finish().value();
}

/// A norm of images of 2 x 3, with the sum of each image as its second result.
LoopKernel norm() {
  LoopKernelBuilder nest("norm");
  const TensorType type{DType::kF16, {2, 2, 3}};
  const AffineIndex m = nest.parallel("m", 2), h = nest.reduction("h", 2), w = nest.reduction("w", 3);
  const OperandId x = nest.operand("x", type);
  const BodyValue sum = nest.reduce(ReductionKind::kSum, nest.load(nest.term(), x, {m, h, w}));
  BodyBuilder& second = nest.next_pass();
  const BodyValue element = nest.load(second, x, {m, h, w});
  const BodyValue scaled = second.mul(element, second.constant_like(element, 6));
  const BodyValue centred = second.sub(scaled, nest.reduced(sum));
  const KeptId kept = nest.keep(centred);
  const BodyValue squares = nest.reduce(ReductionKind::kSum, second.mul(centred, centred));
  BodyBuilder& third = nest.next_pass();
  const BodyValue numerator = nest.kept(kept);
  nest.store_in_pass("y", type, {m, h, w}, third.div(numerator, nest.reduced(squares)));
  nest.store("sum", {DType::kF32, {2}}, {m}, sum);
  return nest.finish().value();
}

constexpr std::string_view kSoftmaxText = R"(loop_kernel "softmax" rows {
  symbol rows
  d0 m parallel rows
  d1 n reduction 5
  operand 0 %x f32[rows, 5] offset 0 strides [5, 1]
  result 0 %y f32[rows, 5] offset 0 strides [5, 1]
  load 0 operand 0 [d0, d1]
  store 0 result 0 [d0, d1] in pass 2
  reduction 0 max f32
  reduction 1 sum f32 in pass 1
  temporary 0 f32 in pass 1
  term
    %0 = load 0 : f32
    yield %0
  term
    %0 = load 0 : f32
    %1 = reduced 0 : f32
    %2 = sub %0, %1 : f32
    yield %2, %2
  term
    %0 = temporary 0 : f32
    %1 = reduced 1 : f32
    %2 = div %0, %1 : f32
    yield %2
  epilogue
    %0 = reduced 0 : f32
    %1 = reduced 1 : f32
}
)";

/// The text of norm(), with these dims and tensors, and with `point` as the indices of its load and its first store.
std::string norm_text(std::string_view declarations, std::string_view point) {
  return R"(loop_kernel "norm" rows {
  d0 m parallel 2
)" + std::string(declarations) +
         "  load 0 operand 0 [" + std::string(point) + "]\n  store 0 result 0 [" + std::string(point) +
         R"(] in pass 2
  store 1 result 1 [d0]
  reduction 0 sum f32
  reduction 1 sum f32 in pass 1
  temporary 0 f32 in pass 1
  term
    %0 = load 0 : f32
    yield %0
  term
    %0 = load 0 : f32
    %1 = constant 6 : f32
    %2 = mul %0, %1 : f32
    %3 = reduced 0 : f32
    %4 = sub %2, %3 : f32
    %5 = mul %4, %4 : f32
    yield %5, %4
  term
    %0 = temporary 0 : f32
    %1 = reduced 1 : f32
    %2 = div %0, %1 : f32
    yield %2
  epilogue
    %0 = reduced 0 : f32
    %1 = reduced 1 : f32
    yield %0
}
)";
}

TEST_CASE("a term yields reductions, then temporaries, then stores, and its text says what belongs to which pass") {
  CHECK(to_text(softmax(Dim("rows"))) == kSoftmaxText);
  CHECK(to_text(norm()) == norm_text(R"(  d1 h reduction 2
  d2 w reduction 3
  operand 0 %x f16[2x2x3] offset 0 strides [6, 3, 1]
  result 0 %y f16[2x2x3] offset 0 strides [6, 3, 1]
  result 1 %sum f32[2] offset 0 strides [1]
)",
                                     "d0, d1, d2"));
}

TEST_CASE("a kernel with several passes reads back, and mutated texts of it never crash") {
  CHECK(parse_loop_kernel(kSoftmaxText).value() == softmax(Dim("rows")));
  CHECK(parse_loop_kernel(to_text(norm())).value() == norm());
  for (const LoopKernel& kernel : {softmax(Dim("rows")), norm()}) {
    CHECK(test::round_trip_problem(kernel) == "");
    CHECK(test::mutated_text_problem(kernel, 1, 2000) == "");
  }
}

TEST_CASE("each pass reads what earlier passes gave for its row") {
  float x[] = {8, 4, 6, 8, 6, -1, 0, -4, -2, -1}, y[10];
  void* const data[] = {x, y};
  REQUIRE(evaluate_loop_kernel(softmax(Dim("rows")), data, {{"rows", 2}}).message() == "");
  const float expected[] = {0, 0.5, 0.25, 0, 0.25, 0.125, 0, 0.5, 0.25, 0.125};
  for (std::size_t i = 0; i < std::size(expected); ++i) CHECK(y[i] == expected[i]);
}

TEST_CASE("a kernel is of kind rows if it has another pass, a temporary, or a store in its pass") {
  CHECK(to_text(LoopKind::kRows) == "rows");
  CHECK(classify(softmax(2)) == LoopKind::kRows);
  const auto kind_of = [](bool keeps, bool stores) {
    LoopKernelBuilder nest("one");
    const AffineIndex n = nest.reduction("n", 5);
    const BodyValue element = nest.load(nest.term(), nest.operand("x", {DType::kF32, {5}}), {n});
    const BodyValue sum = nest.reduce(ReductionKind::kSum, element);
    if (keeps) nest.keep(element);
    if (stores) nest.store_in_pass("z", {DType::kF32, {5}}, {n}, element);
    nest.store("y", {DType::kF32, {}}, {}, sum);
    return classify(nest.finish().value());
  };
  CHECK(kind_of(false, false) == LoopKind::kReduce);
  CHECK(kind_of(true, false) == LoopKind::kRows);
  CHECK(kind_of(false, true) == LoopKind::kRows);
}

TEST_CASE("the operations of every pass count once per point") {
  CHECK(count_flops(softmax(Dim("rows"))).to_text() == "20*rows");  // sub, div, two reductions
  CHECK(count_flops(norm()) == 2 * 6 * 6);                          // two mul, sub, div, two reductions
}

TEST_CASE("reduction dims that all passes walk as one are merged, and every item keeps its pass") {
  CHECK(to_text(collapse_dims(norm())) == norm_text(R"(  d1 h.w reduction 6
  operand 0 %x f16[12] offset 0 strides [1]
  result 0 %y f16[12] offset 0 strides [1]
  result 1 %sum f32[2] offset 0 strides [1]
)",
                                                    "6*d0 + d1"));
  LoopKernel padded = norm();
  padded.results[0].layout.strides = {8, 4, 1};
  const LoopKernel collapsed = collapse_dims(padded);
  CHECK(collapsed.domain.size() == 3);
  CHECK(collapsed.stores[0].pass == 2u);
}

/// The message about softmax of 2 x 5 after `damage`, without the prefix of each line.
template <class F>
std::string complaint(F&& damage) {
  LoopKernel kernel = softmax(2);
  damage(kernel);
  std::string text = verify(kernel).message();
  const std::string prefix = "loop kernel 'softmax': ";
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
  return text;
}

TEST_CASE("verify finds items of a pass that does not exist, or in another order") {
  CHECK(verify(softmax(2)).message() == "");
  CHECK(complaint([](LoopKernel& k) { k.reductions[1].pass = 3; }) == "reduction 1: pass 3, expected less than 3");
  CHECK(complaint([](LoopKernel& k) { k.temporaries[0].pass = 3; }) == "temporary 0: pass 3, expected less than 3");
  CHECK(complaint([](LoopKernel& k) { k.stores[0].pass = 3; }) ==
        "store 0: pass 3, expected less than 3\n"
        "pass 2: reduces, keeps and stores nothing");
  CHECK(complaint([](LoopKernel& k) {
          k.reductions[0].pass = 1;
          k.reductions[1].pass = 0;
        }) == "reduction 1: in pass 0, expected at least 1, like the one before");
  CHECK(complaint([](LoopKernel& k) { k.temporaries.push_back({DType::kF32, 0}); }) ==
        "temporary 1: in pass 0, expected at least 1, like the one before");
  CHECK(complaint([](LoopKernel& k) { k.terms.emplace_back(); }) == "pass 3: reduces, keeps and stores nothing");
  CHECK(complaint([](LoopKernel& k) {
          k.terms.clear();
          k.reductions.clear();
          k.temporaries.clear();
          k.stores[0].pass.reset();
        }) ==
        "store 0: indexed by a reduction dim, expected parallel dims only\n"
        "1 reduction dims but no pass");
}

TEST_CASE("verify finds temporaries of 16 bits, stores that overwrite each other, and passes in place") {
  CHECK(complaint([](LoopKernel& k) { k.temporaries[0].dtype = DType::kF16; }) == "temporary 0: is f16, expected f32");
  CHECK(complaint([](LoopKernel& k) { k.temporaries[0].dtype = DType::kBF16; }) ==
        "temporary 0: is bf16, expected f32");
  CHECK(complaint([](LoopKernel& k) { k.stores[0].indices[1].coefficients[1] = 0; }) ==
        "store 0: not indexed by d1, so its points overwrite each other");
  CHECK(complaint([](LoopKernel& k) { k.stores[0].indices[0].coefficients[0] = 0; }) ==
        "store 0: not indexed by d0, so its points overwrite each other");
  CHECK(complaint([](LoopKernel& k) { k.in_place = 0; }) ==
        "in place with 3 passes and 1 results, expected a map with one result");
}

TEST_CASE("a pass may store without an index of a reduction dim of extent 1") {
  LoopKernelBuilder nest("one");
  const AffineIndex m = nest.parallel("m", 4), n = nest.reduction("n", 1);
  const BodyValue element = nest.load(nest.term(), nest.operand("x", {DType::kF32, {4, 1}}), {m, n});
  nest.store_in_pass("y", {DType::kF32, {4}}, {m}, element);
  CHECK(nest.finish().status().message() == "");
}

TEST_CASE("verify finds a term that yields too little, or another dtype") {
  CHECK(complaint([](LoopKernel& k) { k.terms[1].yields.pop_back(); }) ==
        "term 1: 1 yields, expected 2, one per reduction, temporary and store of the pass");
  CHECK(complaint([](LoopKernel& k) { k.terms[2].yields.clear(); }) ==
        "term 2: 0 yields, expected 1, one per reduction, temporary and store of the pass");
  CHECK(complaint([](LoopKernel& k) { k.epilogue.yields.push_back(BodyValueId{0}); }) ==
        "epilogue: 1 yields, expected 0, one per store");
  CHECK(complaint([](LoopKernel& k) { k.reductions[0].dtype = DType::kF64; }) ==
        "term 0: yield 0 is f32, expected f64");
  CHECK(complaint([](LoopKernel& k) { k.temporaries[0].dtype = DType::kI32; }) ==
        "term 1: yield 1 is f32, expected i32");
  CHECK(complaint([](LoopKernel& k) { k.results[0].type.dtype = DType::kI32; }) ==
        "term 2: yield 0 is f32, expected i32");
}

TEST_CASE("verify finds a body that reads what no earlier pass gives") {
  const auto append = [](KernelOp op, std::uint64_t number, DType dtype = DType::kF32) {
    return BodyInstruction{.op = op, .dtype = dtype, .immediate = number};
  };
  const auto in_term = [&](std::size_t pass, const BodyInstruction& instruction) {
    return complaint([&](LoopKernel& k) { k.terms[pass].instructions.push_back(instruction); });
  };
  CHECK(in_term(0, append(KernelOp::kTemporary, 0)) ==
        "term 0: %1 = temporary: of pass 1, expected one of an earlier pass");
  CHECK(in_term(1, append(KernelOp::kTemporary, 0)) ==
        "term 1: %3 = temporary: of pass 1, expected one of an earlier pass");
  CHECK(in_term(2, append(KernelOp::kTemporary, 1)) == "term 2: %3 = temporary: temporary 1, expected less than 1");
  CHECK(in_term(2, append(KernelOp::kTemporary, 0, DType::kI32)) ==
        "term 2: %3 = temporary: result is i32, expected f32");
  CHECK(in_term(0, append(KernelOp::kReduced, 0)) ==
        "term 0: %1 = reduced: of pass 0, expected one of an earlier pass");
  CHECK(in_term(0, append(KernelOp::kReduced, 1)) ==
        "term 0: %1 = reduced: of pass 1, expected one of an earlier pass");
  CHECK(in_term(2, append(KernelOp::kReduced, 2)) == "term 2: %3 = reduced: reduction 2, expected less than 2");
  CHECK(in_term(2, append(KernelOp::kReduced, 1, DType::kF64)) == "term 2: %3 = reduced: result is f64, expected f32");
  CHECK(complaint([&](LoopKernel& k) { k.epilogue.instructions.push_back(append(KernelOp::kTemporary, 0)); }) ==
        "epilogue: %2 = temporary: allowed only in a term");
}

/// The message about a nest over 4 points that is built wrongly. `build` gets the index, and an element in the first
/// term.
template <class F>
std::string mistake_of(F&& build) {
  LoopKernelBuilder nest("wrong");
  const AffineIndex n = nest.reduction("n", 4);
  const BodyValue element = nest.load(nest.term(), nest.operand("x", {DType::kF32, {4}}), {n});
  build(nest, n, element);
  return nest.finish().status().message();
}

TEST_CASE("the builder names the first wrong value of a pass") {
  const TensorType type{DType::kF32, {4}};
  CHECK(mistake_of([&](LoopKernelBuilder& k, const AffineIndex& n, BodyValue element) {
          k.store_in_pass("y", type, {n}, element);
        }) == "");
  CHECK(mistake_of([](LoopKernelBuilder& k, const AffineIndex&, BodyValue element) {
          k.next_pass();
          k.keep(element);
        }) == "loop kernel 'wrong': keep: expected a value of the current term");
  CHECK(mistake_of([](LoopKernelBuilder& k, const AffineIndex&, BodyValue element) { k.reduced(element); }) ==
        "loop kernel 'wrong': reduced: expected a result of reduce()");
  CHECK(mistake_of([](LoopKernelBuilder& k, const AffineIndex&, BodyValue element) {
          BodyValue sum = k.reduce(ReductionKind::kSum, element);
          sum.dtype = DType::kF64;
          k.next_pass();
          k.reduced(sum);
        }) == "loop kernel 'wrong': reduced: expected a result of reduce()");
  CHECK(mistake_of([](LoopKernelBuilder& k, const AffineIndex&, BodyValue element) {
          k.keep(element);
          k.next_pass();
          k.kept(KeptId{1});
        }) == "loop kernel 'wrong': kept: value 1, expected less than 1; use an id from keep()");
  CHECK(mistake_of([&](LoopKernelBuilder& k, const AffineIndex& n, BodyValue element) {
          k.next_pass();
          k.store_in_pass("y", type, {n}, element);
        }) == "loop kernel 'wrong': store 'y': expected a value of the current term");
  CHECK(mistake_of([](LoopKernelBuilder& k, const AffineIndex&, BodyValue element) {
          k.next_pass();
          k.reduce(ReductionKind::kSum, element);
        }) == "loop kernel 'wrong': reduce sum: expected a value of the term; load() it into term()");
  CHECK(mistake_of([&](LoopKernelBuilder& k, const AffineIndex& n, BodyValue element) {
          const BodyValue sum = k.reduce(ReductionKind::kSum, element);
          BodyBuilder& second = k.next_pass();
          const BodyValue place = k.index(second, n);
          k.store_in_pass("y", type, {n}, second.add(k.reduced(sum), place));
        }) ==
        "loop kernel 'wrong': the term computes add(f32, i64) : f32, which is not supported; cast the operands, or "
        "convert in the body");
}

TEST_CASE("the builder's kernels are verified pass by pass") {
  const TensorType type{DType::kF32, {4}};
  CHECK(mistake_of([&](LoopKernelBuilder& k, const AffineIndex& n, BodyValue element) {
          const BodyValue sum = k.reduce(ReductionKind::kSum, element);
          k.store_in_pass("y", type, {n}, k.term().sub(element, k.reduced(sum)));
        }) == "loop kernel 'wrong': term: %1 = reduced: of pass 0, expected one of an earlier pass");
  CHECK(mistake_of([&](LoopKernelBuilder& k, const AffineIndex& n, BodyValue element) {
          k.store_in_pass("y", type, {n}, element);
          k.next_pass();
        }) == "loop kernel 'wrong': pass 1: reduces, keeps and stores nothing");
  CHECK(mistake_of([&](LoopKernelBuilder& k, const AffineIndex&, BodyValue element) {
          k.store_in_pass("y", type, {AffineIndex{} + 2}, element);
        }) == "loop kernel 'wrong': store 0: not indexed by d0, so its points overwrite each other");
}

}  // namespace
}  // namespace millrace
