// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/jit/xbyak/gemm_harness.h"

namespace millrace::gemm_test {
namespace {

std::string refusal(const Kernel& kernel, const TargetSpec& spec = {"cpu", IsaLevel::kAvx2}) {
  const auto planned = make_xbyak_generator()->plan(kernel, spec);
  return planned.ok() ? "taken" : planned.status().message();
}

std::string refusal_of_epilogue(const GemmEpilogue& epilogue) {
  return refusal(make_gemm({.m = 8, .n = 8, .k = 8}, {Spread::kFull}, epilogue));
}

TEST_CASE("xbyak lists the targets that it generates code for") {
  const LoopKernel kernel = make_gemm({.m = 8, .n = 8, .k = 8});
  CHECK_EQ(refusal(kernel), "taken");
  CHECK_EQ(refusal(kernel, {"cpu", IsaLevel::kAvx512}), "taken");
  CHECK_EQ(refusal(kernel, {"cpu", IsaLevel::kBaseline}),
           "xbyak: needs FMA, cpu:baseline has none; say cpu:avx2 or cpu:avx512");
  CHECK_EQ(make_xbyak_generator()->supports({"cpu", IsaLevel::kBaseline}).message(),
           "xbyak: needs FMA, cpu:baseline has none; say cpu:avx2 or cpu:avx512");
  CHECK_EQ(refusal(kernel, {"amdgpu", IsaLevel::kBaseline}).substr(0, 30), "xbyak: makes x86-64 code, not ");
}

TEST_CASE("xbyak takes contractions, argmin, argmax, sorts and scans only") {
  CHECK_EQ(refusal(MachineKernel{}), "a machine kernel, expected a contraction, argmin, argmax, sort or scan");
  LoopKernel maximum = make_gemm({.m = 8, .n = 8, .k = 8});
  maximum.reductions[0].kind = ReductionKind::kMax;
  CHECK_EQ(refusal(maximum), "a reduce nest, expected a contraction, argmin or argmax");
  LoopKernel map = make_gemm({.m = 8, .n = 8, .k = 8}, {Spread::kFull},
                             [](BodyBuilder&, BodyValue, const Element& e) { return std::vector{e(0)}; });
  map.reductions.clear();
  map.terms.clear();
  map.domain.pop_back();
  for (Access& access : map.loads) {
    for (AffineIndex& index : access.indices) index.coefficients.pop_back();
  }
  for (AffineIndex& index : map.stores[0].indices) index.coefficients.pop_back();
  CHECK_EQ(refusal(map), "a map nest, expected a contraction, argmin or argmax");
}

TEST_CASE("xbyak takes static f32 products") {
  LoopKernel symbolic = make_gemm({.m = 8, .n = 8, .k = 8});
  symbolic.domain[0].extent = Dim("rows");
  CHECK_EQ(refusal(symbolic), "dim d0 (m) has the symbolic extent rows, expected a static one");
  LoopKernel half = make_gemm({.m = 8, .n = 8, .k = 8});
  half.operands[1].type.dtype = DType::kF16;
  CHECK_EQ(refusal(half), "operand 'b' is f16, expected f32");
  LoopKernel narrow_result = make_gemm({.m = 8, .n = 8, .k = 8});
  narrow_result.results[0].type.dtype = DType::kBF16;
  CHECK_EQ(refusal(narrow_result), "result 'c0' is bf16, expected f32");
  LoopKernel wide = make_gemm({.m = 8, .n = 8, .k = 8});
  wide.reductions[0].dtype = DType::kF64;
  CHECK_EQ(refusal(wide), "sums in f64, expected f32");
}

TEST_CASE("xbyak takes sums that two levels of accumulators hold") {
  CHECK_EQ(refusal(make_gemm({.m = 8, .n = 8, .k = 131072})), "taken");
  CHECK_EQ(refusal(make_gemm({.m = 8, .n = 8, .k = 131073})), "a sum of 131073 products, expected at most 131072");
}

/// A one-dimensional convolution: its two reduction dims walk the input together.
TEST_CASE("xbyak takes one dim of summation") {
  LoopKernel kernel = make_gemm({.m = 8, .n = 8, .k = 8, .padding = 3});
  kernel.domain.push_back({"window", 3, true});
  for (std::vector<Access>* accesses : {&kernel.loads, &kernel.stores}) {
    for (Access& access : *accesses) {
      for (AffineIndex& index : access.indices) index.coefficients.push_back(0);
    }
  }
  kernel.loads[0].indices[0].coefficients[3] = 1;
  kernel.operands[0].type.shape[0] = 10;
  kernel.loads[1].indices[0].coefficients[3] = 8;
  kernel.operands[1].type.shape[0] = 24;
  CHECK_EQ(refusal(kernel), "dims d2 (k) and d3 (window) are both summed over and do not collapse, expected one");
}

TEST_CASE("xbyak refuses strides that its loads and stores cannot walk") {
  CHECK_EQ(refusal(make_gemm({.m = 1, .n = 1, .k = 8})),
           "the result has no dim with unit stride on which exactly one factor depends, expected one for the columns");
  CHECK_EQ(
      refusal(make_gemm({.m = 3, .n = 8, .k = 8, .b_is_transposed = true})),
      "3 row(s) by a matrix that is contiguous along the sum: transposing it costs more than it gains below 4 rows");
  LoopKernel strided = make_gemm({.m = 8, .n = 8, .k = 8, .padding = 10});
  strided.operands[1].layout.strides = {18, 2};
  CHECK_EQ(refusal(strided),
           "operand 'b' has strides 2 along columns and 18 along the sum, expected 1 for one of them");
  LoopKernel transposed =
      make_gemm({.m = 8, .n = 8, .k = 8}, {Spread::kFull},
                [](BodyBuilder& b, BodyValue sum, const Element& e) { return std::vector{b.add(sum, e(0))}; });
  transposed.operands[2].layout.strides = {1, 8};
  CHECK_EQ(refusal(transposed), "operand 'e0' of the epilogue has stride 8 along columns, expected 0 or 1");
  LoopKernel padded = make_gemm({.m = 8, .n = 8, .k = 8});
  padded.loads[0].fill = Scalar::of(0.0f);
  padded.loads[0].indices[0].offset = -1;
  CHECK_EQ(refusal(padded), "a reduce nest, expected a contraction, argmin or argmax");
}

TEST_CASE("xbyak names the op of an epilogue that has no vector form") {
  CHECK_EQ(refusal_of_epilogue([](BodyBuilder& b, BodyValue sum, const Element&) {
             return std::vector{b.convert(DType::kF32, b.convert(DType::kF64, sum))};
           }),
           "epilogue %1 = convert: no vector op from f32 to f64");
  CHECK_EQ(refusal_of_epilogue([](BodyBuilder& b, BodyValue sum, const Element&) {
             return std::vector{b.add(sum, b.convert(DType::kF32, b.index(0)))};
           }),
           "epilogue %1 = index: no vector op for it");
  CHECK_EQ(refusal_of_epilogue([](BodyBuilder& b, BodyValue sum, const Element&) {
             std::vector<BodyValue> values = {b.add(sum, sum)};
             for (int i = 0; i < 15; ++i) values.push_back(b.add(values.back(), sum));
             BodyValue total = sum;
             for (const BodyValue value : values) total = b.add(total, value);
             return std::vector{total};
           }),
           "the epilogue needs 17 vectors at a time, cpu:avx2 has 16 registers");
}

/// An epilogue that is refused for its length alone.
LoopKernel long_product(std::size_t num_additions) {
  return make_gemm({.m = 100, .n = 100, .k = 8}, {Spread::kFull}, [&](BodyBuilder& b, BodyValue sum, const Element& e) {
    const BodyValue other = e(0);
    for (std::size_t i = 0; i < num_additions; ++i) sum = b.neg(b.add(sum, other));
    return std::vector{sum};
  });
}

TEST_CASE("xbyak refuses an epilogue whose code would be too long, and emits what it took") {
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    const TargetSpec spec{"cpu", isa};
    const auto generator = make_xbyak_generator();
    std::size_t num_taken = 0;
    for (std::size_t length = 1; length <= 4096; length *= 2) {
      const auto planned = generator->plan(long_product(length), spec);
      if (!planned.ok()) continue;
      ++num_taken;
      const auto image = generator->emit(*planned, spec);
      REQUIRE_EQ(image.status().message(), "");
      CHECK_LE(image->code_bytes, 65536);
    }
    CHECK_GE(num_taken, 8);
    CHECK_EQ(refusal(long_product(20000), spec),
             "the epilogue makes 131072 bytes of code or more, expected at most 65536");
  }
}

}  // namespace
}  // namespace millrace::gemm_test
