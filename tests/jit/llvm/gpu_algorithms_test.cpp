// SPDX-License-Identifier: Apache-2.0
// The kernels of sorts and scans as AMD GPU code objects: each matches its plan, on every target.
#include <doctest/doctest.h>

#include "tests/jit/algorithms/observed_sequence.h"
#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/algorithms/sort/sort_cases.h"
#include "tests/jit/llvm/gpu_support.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

constexpr DType kDTypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,  DType::kU8,
                             DType::kI16, DType::kI32, DType::kU32, DType::kI64,  DType::kU64, DType::kBool};

/// Emits each kernel of the algorithm that the target chooses by default.
void check_emission(const KernelRequest& request, const GfxTarget& gfx, std::string_view algorithm) {
  Result<KernelSequence> sequence = lower_request(request, test::gpu_target(gfx.name), test::forced(""));
  REQUIRE_MESSAGE(sequence.ok(), sequence.status().message());
  CHECK(sequence->algorithm == algorithm);
  for (const SequenceKernel& entry : sequence->kernels) {
    const auto& machine = std::get<MachineKernel>(entry.kernel.mapped);
    const std::string text = to_text(machine);
    CAPTURE(text);
    const EmittedGpuKernel kernel(machine, gfx);
    check_promises(kernel, gfx);
    const bool is_one_subgroup = machine.workgroup_size == gfx.subgroup_size;
    if (!machine.slots.empty() && !is_one_subgroup) CHECK(kernel.has("s_barrier"));
    const auto uses = [&](const char* op) { return text.find(op) != std::string::npos; };
    if (uses("shuffle_xor")) CHECK(kernel.has(is_rdna(gfx) ? "row_xmask:1" : "quad_perm:[1,0,3,2]"));
    if (uses("ballot")) CHECK(kernel.has("v_bcnt_u32_b32"));  // a radix sort's ranks: of many steps one instruction
    if (uses("atomic_add")) CHECK(kernel.has("ds_add"));
  }
}

TEST_CASE("every kernel of a sort is an object that matches its plan, on every GPU target" * test::Sliced()) {
  struct Row {
    std::int64_t n, k;
    const char* algorithm;
  };
  constexpr Row kRows[] = {{20, 20, "gpu_tile_sort"},  {1000, 1000, "gpu_tile_sort"}, {4096, 4096, "gpu_tile_sort"},
                           {256, 8, "gpu_topk_lanes"}, {32000, 50, "gpu_topk_parts"}, {100000, 2000, "gpu_topk_parts"}};
  std::size_t iteration = 0;
  for (const GfxTarget& gfx : gfx_targets()) {
    for (const Row& row : kRows) {
      for (int i = 0; i < 2; ++i) {
        test::SortCase test{.dtype = kDTypes[iteration++ % std::size(kDTypes)], .extents = {7, row.n}, .axis = 1};
        test.k = row.k;
        test.largest = iteration % 2 == 0;
        CAPTURE(gfx.name);
        CAPTURE(to_text(test.dtype));
        check_emission(test::descriptor_of(test), gfx, row.algorithm);
      }
    }
  }
}

TEST_CASE("every kernel of a radix sort is an object that matches its plan, on every GPU target" * test::Sliced()) {
  constexpr DType kOfTarget[] = {DType::kF32, DType::kI64, DType::kF16, DType::kI8, DType::kU32, DType::kI16};
  std::size_t iteration = 0;
  for (const GfxTarget& gfx : gfx_targets()) {
    test::SortCase test{.dtype = kOfTarget[iteration++ % 6], .extents = {7, 30000}, .axis = 1, .k = 30000};
    test.largest = iteration % 2 == 0;
    CAPTURE(gfx.name);
    check_emission(test::descriptor_of(test), gfx, "gpu_radix_sort");
  }
}

TEST_CASE("every kernel of a selection by digits is an object that matches its plan, on every GPU target" *
          test::Sliced()) {
  constexpr DType kOfTarget[] = {DType::kI32, DType::kF64, DType::kBF16, DType::kF32, DType::kU64, DType::kF16};
  std::size_t iteration = 0;
  for (const GfxTarget& gfx : gfx_targets()) {
    test::SortCase test{.dtype = kOfTarget[iteration++ % 6], .extents = {7, 30000}, .axis = 1, .k = 3000};
    test.largest = iteration % 2 == 0;
    test.sorted = iteration % 3 == 0;
    CAPTURE(gfx.name);
    check_emission(test::descriptor_of(test), gfx, "gpu_topk_select");
  }
}

TEST_CASE("every kernel of a scan is an object that matches its plan, on every GPU target" * test::Sliced()) {
  constexpr ReductionKind kKinds[] = {ReductionKind::kSum, ReductionKind::kProd, ReductionKind::kMin,
                                      ReductionKind::kMax};
  std::size_t iteration = 0;
  for (const GfxTarget& gfx : gfx_targets()) {
    for (const std::int64_t n : {50, 1000, 100000}) {
      const DType dtype = kDTypes[++iteration % (std::size(kDTypes) - 1)];
      CAPTURE(gfx.name);
      CAPTURE(to_text(dtype));
      const Shape shape{7, n};
      const KernelTensor x{"x", {dtype, shape}, Layout::row_major(shape)};
      ScanDescriptor scan{.name = "scan",
                          .input = x,
                          .result = x,
                          .axis = 1,
                          .kind = kKinds[iteration % 4],
                          .exclusive = iteration % 2 == 0,
                          .reverse = iteration % 3 == 0};
      check_emission(scan, gfx, n > 8192 ? "gpu_scan_pieces" : "gpu_scan_rows");
      scan.axis = 0;
      if (n == 100000) check_emission(scan, gfx, "gpu_scan_columns");
    }
  }
}

TEST_CASE("every kernel for sizes that a run binds is an object that matches its plan, on every GPU target" *
          test::Sliced()) {
  constexpr DType kOfTarget[] = {DType::kF32, DType::kI64, DType::kF16, DType::kF64, DType::kU32, DType::kI16};
  const Dim rows("rows"), n("n"), k = Dim("k").at_most(100);
  const Shape shape{rows, n}, kept{rows, k};
  std::size_t iteration = 0;
  for (const GfxTarget& gfx : gfx_targets()) {
    const DType dtype = kOfTarget[iteration++ % 6];
    CAPTURE(gfx.name);
    CAPTURE(to_text(dtype));
    const KernelTensor x{"x", {dtype, shape}, Layout::row_major(shape)};
    const auto indices_of = [](const Shape& of) {
      return KernelTensor{"at", {DType::kI64, of}, Layout::row_major(of)};
    };
    SortDescriptor sort;
    sort.name = "sort";
    sort.input = sort.values.emplace(x);
    sort.axis = 1;
    sort.k = n;
    sort.indices = indices_of(shape);
    check_emission(sort, gfx, "gpu_tile_sort, gpu_radix_sort");
    sort.k = k;
    sort.values.reset();
    sort.indices = indices_of(kept);
    check_emission(sort, gfx, "gpu_topk_lanes, gpu_tile_sort, gpu_topk_parts");
    const ScanDescriptor scan{.name = "scan", .input = x, .result = x, .axis = 1, .reverse = iteration % 2 == 0};
    check_emission(scan, gfx, "gpu_scan_rows, gpu_scan_pieces");
  }
}

}  // namespace
}  // namespace millrace
