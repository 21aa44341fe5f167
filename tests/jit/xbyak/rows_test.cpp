// SPDX-License-Identifier: Apache-2.0
// Which argmax and scans xbyak takes, and the size of their code.
#include <functional>

#include <doctest/doctest.h>

#include "jit/algorithms/row_operation.h"
#include "millrace/jit/loop_kernel_builder.h"
#include "tests/jit/xbyak/gemm_harness.h"

namespace millrace {
namespace {

/// An argmax, or another reduction, of the rows or the columns of x[m, n].
struct ArgCase {
  SizeExpr m = 8, n = 100;
  DType dtype = DType::kF32;
  ReductionKind kind = ReductionKind::kArgMax;
  bool of_columns = false;
  LoadOptions load = {};
  std::int64_t shift = 0;  // of the elements read
  std::function<BodyValue(BodyBuilder&, BodyValue)> term = [](BodyBuilder&, BodyValue x) { return x; };
  std::function<BodyValue(BodyBuilder&, BodyValue)> epilogue = [](BodyBuilder&, BodyValue index) { return index; };

  LoopKernel build() const {
    LoopKernelBuilder kernel("arg");
    const AffineIndex outer = kernel.parallel("outer", of_columns ? n : m);
    const AffineIndex inner = kernel.reduction("inner", of_columns ? m : n);
    const OperandId x = kernel.operand("x", {dtype, {m, n}});
    const std::vector<AffineIndex> place = of_columns ? std::vector{inner, outer} : std::vector{outer, inner - shift};
    const BodyValue index = kernel.reduce(kind, term(kernel.term(), kernel.load(kernel.term(), x, place, load)));
    kernel.store("y", {DType::kI64, {of_columns ? n : m}}, {outer}, epilogue(kernel.epilogue(), index));
    return kernel.finish().value();
  }
};

ScanDescriptor make_scan(DType dtype, std::uint32_t axis) {
  const Shape shape{8, 100};
  const KernelTensor x = {"x", {dtype, shape}, Layout::row_major(shape)};
  return {.name = "scan", .input = x, .result = {"y", x.type, x.layout}, .axis = axis};
}

std::string refusal(const Kernel& kernel) {
  const auto planned = make_xbyak_generator()->plan(kernel, {"cpu", IsaLevel::kAvx2});
  return planned.ok() ? "taken" : planned.status().message();
}

TEST_CASE("xbyak takes an argmin or argmax of one operand's contiguous rows, and of a few long columns") {
  CHECK_EQ(refusal(ArgCase{}.build()), "taken");
  CHECK_EQ(refusal(ArgCase{.m = Dim("m"), .n = Dim("n")}.build()), "taken");
  for (const DType dtype : {DType::kF16, DType::kI8, DType::kU16, DType::kU64}) {
    CHECK_EQ(refusal(ArgCase{.dtype = dtype, .kind = ReductionKind::kArgMin}.build()), "taken");
  }
  CHECK_EQ(refusal(ArgCase{.of_columns = true}.build()),
           "an argmax of elements that are 100 apart, expected contiguous rows");
  CHECK_EQ(refusal(ArgCase{.m = 1024, .n = 32, .of_columns = true}.build()), "taken");
  CHECK_EQ(refusal(ArgCase{.m = Dim("m"), .n = 2, .of_columns = true}.build()), "taken");
  CHECK_EQ(refusal(ArgCase{.m = 1024, .n = 33, .of_columns = true}.build()),
           "an argmax of elements that are 33 apart, expected contiguous rows");
  CHECK_EQ(refusal(ArgCase{.m = 1023, .n = 32, .of_columns = true}.build()),
           "an argmax of elements that are 32 apart, expected contiguous rows");
  CHECK_EQ(refusal(ArgCase{.load = {.fill = Scalar::of(0.0f)}, .shift = 1}.build()),
           "an argmax of padded or gathered elements, expected plain rows");
  CHECK_EQ(refusal(ArgCase{.m = std::int64_t{1} << 32}.build()), "4294967296 rows, expected at most 4294967295");
}

TEST_CASE("xbyak takes no argmax with further computation") {
  const auto abs = [](BodyBuilder& b, BodyValue x) { return b.abs(x); };
  CHECK_EQ(refusal(ArgCase{.term = abs}.build()),
           "an argmax of values computed by abs, expected an operand's elements");
  CHECK_EQ(refusal(ArgCase{.kind = ReductionKind::kArgMin, .term = abs}.build()),
           "an argmin of values computed by abs, expected an operand's elements");
  CHECK_EQ(refusal(ArgCase{.epilogue = [](BodyBuilder& b, BodyValue index) { return b.add(index, index); }}.build()),
           "an argmax whose index enters an epilogue, expected the index as the only result");
  LoopKernelBuilder kernel("two");
  const AffineIndex m = kernel.parallel("m", 8), n = kernel.reduction("n", 100);
  const BodyValue x = kernel.load(kernel.term(), kernel.operand("x", {DType::kF32, {8, 100}}), {m, n});
  const BodyValue w = kernel.load(kernel.term(), kernel.operand("w", {DType::kF32, {100}}), {n});
  kernel.store("y", {DType::kI64, {8}}, {m}, kernel.reduce(ReductionKind::kArgMax, kernel.term().mul(x, w)));
  CHECK_EQ(refusal(kernel.finish().value()),
           "an argmin or argmax with 0 other reductions and 2 loads, expected 0 and 1");
}

TEST_CASE("xbyak scans contiguous rows") {
  CHECK_EQ(refusal(row_kernel(make_scan(DType::kF32, 1))), "taken");
  CHECK_EQ(refusal(row_kernel(make_scan(DType::kF32, 0))),
           "'x' has its elements 100 apart along the axis, expected contiguous rows");
  ScanDescriptor strided = make_scan(DType::kU8, 1);
  strided.result.layout.strides[1] = 2;
  CHECK_EQ(refusal(row_kernel(strided)), "'y' has its elements 2 apart along the axis, expected contiguous rows");
}

TEST_CASE("the code of rows is short, and the same for every size") {
  const auto generator = make_xbyak_generator();
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    const TargetSpec spec{"cpu", isa};
    for (const DType dtype : kAllDTypes) {
      if (dtype == DType::kBool) continue;
      CAPTURE(to_text(dtype));
      for (const Kernel& kernel : {Kernel(ArgCase{.dtype = dtype}.build()), Kernel(row_kernel(make_scan(dtype, 1)))}) {
        const auto planned = generator->plan(kernel, spec);
        REQUIRE_EQ(planned.status().message(), "");
        const auto image = generator->emit(*planned, spec);
        REQUIRE_EQ(image.status().message(), "");
        CHECK_LE(image->code_bytes, 16 << 10);
      }
    }
  }
  const auto key = [&](const ArgCase& one) { return generator->plan(one.build(), {"cpu", IsaLevel::kAvx2})->key_text; };
  CHECK_EQ(key({}), key({.m = 3, .n = Dim("n")}));
  CHECK_NE(key({}), key({.dtype = DType::kI32}));
}

}  // namespace
}  // namespace millrace
