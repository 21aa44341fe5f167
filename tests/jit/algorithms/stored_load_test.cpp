// SPDX-License-Identifier: Apache-2.0
// Sorts and scans with a load: which kernels they have, when the load is stored first, and which loads are refused.
#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "jit/algorithms/row_operation.h"
#include "millrace/jit/loop_kernel_builder.h"
#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/algorithms/sort/sort_cases.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

using test::forced;
using test::interpreted_target;

/// x[m, n] * scale[m] + bias[n] at the place of `input`.
LoopKernel scale_and_bias(const KernelTensor& input) {
  LoopKernelBuilder nest("load");
  const Shape& shape = input.type.shape;
  const AffineIndex m = nest.parallel("m", shape[0]), n = nest.parallel("n", shape[1]);
  const DType dtype = input.type.dtype;
  BodyBuilder& b = nest.epilogue();
  const BodyValue x = nest.load(b, nest.operand("x", {dtype, shape}), {m, n});
  const BodyValue scale = nest.load(b, nest.operand("scale", {dtype, {shape[0]}}), {m});
  const BodyValue bias = nest.load(b, nest.operand("bias", {dtype, {shape[1]}}), {n});
  nest.store(input.name, input.type, {m, n}, b.add(b.mul(x, scale), bias));
  return nest.finish().value();
}

SortDescriptor computed_sort(const test::SortCase& test) {
  SortDescriptor sort = test::descriptor_of(test);
  sort.load = scale_and_bias(sort.input);
  return sort;
}

ScanDescriptor computed_scan() {
  const Shape shape{8, 100};
  const KernelTensor x = {"x", {DType::kF32, shape}, Layout::row_major(shape)};
  ScanDescriptor scan = {.name = "scan", .input = x, .result = {"y", x.type, x.layout}, .axis = 1};
  scan.load = scale_and_bias(x);
  return scan;
}

Target target_of(const std::string& text) {
  const KernelCompilerList generators = {make_xbyak_generator(), make_llvm_generator()};
  const TargetSpec spec = TargetSpec::parse(text).value();
  KernelCompilerList serving;
  std::ranges::copy_if(generators, std::back_inserter(serving),
                       [&](const auto& generator) { return generator->supports(spec).ok(); });
  return Target::create(spec, serving).value();
}

std::string sequence_on(const KernelRequest& request, const std::string& target) {
  return to_text(lower_request(request, target_of(target), {}).value());
}

TEST_CASE("a load is read by lanes, and stored to scratch for all other algorithms") {
  const test::SortCase top = {.extents = {8, 3000}, .axis = 1, .k = 20, .largest = true};
  std::string text = sequence_on(computed_sort(top), "cpu:avx2") + sequence_on(computed_sort(top), "cpu:baseline") +
                     sequence_on(computed_sort(top), "amdgpu:gfx1100") + sequence_on(computed_scan(), "cpu:avx512") +
                     sequence_on(computed_scan(), "amdgpu:gfx90a");
  CHECK(test::golden_problem("sequences_with_load.txt", text) == "");
}

TEST_CASE("algorithms that read no load sort its stored elements") {
  for (const std::string algorithm : {"merge_sort", "radix_sort", "topk_heap"}) {
    CAPTURE(algorithm);
    const SortDescriptor sort = computed_sort({.extents = {3, 40}, .axis = 1, .k = 7, .largest = true});
    const Result<KernelSequence> sequence = lower_request(sort, interpreted_target(IsaLevel::kAvx2), forced(algorithm));
    REQUIRE(sequence.status().message() == "");
    std::vector<float> x(120), scale = {1, -2, 0.5f}, bias(40), values(21);
    std::vector<std::int64_t> indices(21);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 23);
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 3);
    test::run_sequence(*sequence, {x.data(), scale.data(), bias.data()}, {values.data(), indices.data()}, {});
    for (std::size_t row = 0; row < 3; ++row) {
      const auto element = [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        return x[row * 40 + at] * scale[row] + bias[at];
      };
      std::vector<std::int64_t> order(40);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
        return element(a) != element(b) ? element(a) > element(b) : a < b;
      });
      for (std::size_t i = 0; i < 7; ++i) {
        CHECK(indices[row * 7 + i] == order[i]);
        CHECK(values[row * 7 + i] == element(order[i]));
      }
    }
  }
}

/// The longest body, whose steps each take many instructions.
LoopKernel longest_load(const KernelTensor& input) {
  LoopKernelBuilder nest("load");
  const std::vector<AffineIndex> point = nest.parallel_dims(input.type.shape);
  BodyBuilder& b = nest.epilogue();
  BodyValue x[4];
  for (std::size_t i = 0; i < 4; ++i) x[i] = nest.load(b, nest.operand("x" + std::to_string(i), input.type), point);
  for (std::size_t i = 0; i < 124; ++i) x[i % 4] = b.max(x[i % 4], x[(i + 1) % 4]);
  nest.store(input.name, input.type, point, x[3]);
  return nest.finish().value();
}

TEST_CASE("the longest load that lanes take fits the code of an image") {
  const auto generator = make_xbyak_generator();
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU64}) {
      for (const SizeExpr& n : {SizeExpr(300), SizeExpr(100'000), SizeExpr(Dim("n").at_most(1 << 20))}) {
        SortDescriptor sort = test::descriptor_of({.dtype = dtype, .extents = {8, 1}, .axis = 1, .k = 1});
        const Shape shape{8, n};
        sort.input.type.shape = shape;
        sort.input.layout = Layout::row_major(shape);
        sort.load = longest_load(sort.input);
        CAPTURE(to_text(dtype));
        const auto planned = generator->plan(row_kernel(sort), {"cpu", isa});
        REQUIRE(planned.status().message() == "");
        const auto image = generator->emit(*planned, {"cpu", isa});
        REQUIRE(image.status().message() == "");
        CHECK(image->code_bytes < 96 << 10);
      }
    }
  }
}

std::string refusal(const KernelRequest& request) {
  return lower_request(request, target_of("cpu:avx2"), {}).status().message();
}

TEST_CASE("a load that pads is stored first") {
  SortDescriptor sort = computed_sort({.extents = {8, 300}, .axis = 1, .k = 5});
  sort.load->loads[0].fill = Scalar::from_double(DType::kF32, 0);
  const KernelSequence sequence = lower_request(sort, target_of("cpu:avx2"), {}).value();
  REQUIRE(!sequence.refusals.empty());
  constexpr std::string_view kReason = "xbyak: 'x' is read with a fill or at gathered indices, expected plain loads";
  CHECK(sequence.refusals.back().reason.find(kReason) != std::string::npos);
}

TEST_CASE("a load that is not a map to the input is refused") {
  SortDescriptor sort = computed_sort({.extents = {8, 300}, .axis = 1, .k = 5});
  sort.input.type.dtype = sort.values->type.dtype = DType::kI32;
  CHECK_EQ(
      refusal(sort),
      "lower 'sort': its load computes f32[8x300] with offset 0 strides [300, 1], expected its input, i32[8x300] with "
      "offset 0 strides [300, 1]");
  SortDescriptor numbered = computed_sort({.extents = {8, 300}, .axis = 1, .k = 5});
  numbered.input_indices = {"numbers", {DType::kI64, {8, 300}}, numbered.input.layout};
  CHECK_EQ(refusal(numbered),
           "lower 'sort': both a load and input indices, expected at most one; store the load's "
           "result, and sort that");
  ScanDescriptor scan = computed_scan();
  scan.load->stores.clear();
  CHECK_EQ(refusal(scan), "lower 'scan': its load: loop kernel 'load': 0 stores, expected one for each of 1 results");
  LoopKernelBuilder transposed("transposed");
  const AffineIndex row = transposed.parallel("i", 300), column = transposed.parallel("j", 300);
  const BodyValue element =
      transposed.load(transposed.epilogue(), transposed.operand("x", {DType::kF32, {300, 300}}), {row, column});
  transposed.store("y", {DType::kF32, {300, 300}}, {column, row}, element);
  SortDescriptor square = computed_sort({.extents = {300, 300}, .axis = 1, .k = 5});
  square.load = transposed.finish().value();
  CHECK_EQ(refusal(square),
           "lower 'sort': its load stores to other indices than the domain's, expected to store point [i, j, ...] at "
           "[i, j, ...]");
  LoopKernelBuilder nest("sum");
  const AffineIndex m = nest.parallel("m", 8), n = nest.reduction("n", 100);
  const BodyValue x = nest.load(nest.term(), nest.operand("x", {DType::kF32, {8, 100}}), {m, n});
  nest.store("y", {DType::kF32, {8}}, {m}, nest.reduce(ReductionKind::kSum, x));
  scan.load = nest.finish().value();
  CHECK_EQ(refusal(scan), "lower 'scan': its load has 1 passes and 1 results, expected a map to one result");
}

}  // namespace
}  // namespace millrace
