// SPDX-License-Identifier: Apache-2.0
// Workgroup kernels as AMD GPU code objects: each matches its plan, on every target and dtype, and has the required
// instructions.
#include "tests/support/gpu/gpu_kernels.h"

#include <doctest/doctest.h>

#include "tests/jit/llvm/gpu_support.h"

namespace millrace {
namespace {

using test::GpuTestKernel;

/// By name of kernel: instructions that its code must and must not contain.
struct Instructions {
  std::string_view kernel;
  std::vector<std::string_view> everywhere, on_rdna, on_cdna, nowhere;
};

const Instructions kInstructions[] = {
    {"axpy", {"global_load", "global_store"}, {}, {}, {"s_barrier", "ds_"}},
    {"row_sum",
     {"s_barrier", "ds_", "global_load"},
     {"v_permlanex16", "row_xmask:8", "row_xmask:1"},
     {"ds_bpermute", "ds_swizzle", "row_ror:8", "quad_perm:[1,0,3,2]"},
     {"global_inv", "buffer_gl0_inv", "buffer_inv", "buffer_wbinv"}},
    {"bitonic_sort",
     {"s_barrier", "ds_", "global_store"},
     {},
     {},
     {"ds_bpermute", "global_inv", "buffer_gl0_inv", "buffer_inv", "buffer_wbinv"}},
    {"block_scan", {"s_barrier", "ds_bpermute"}, {"v_permlanex16"}, {"ds_swizzle"}, {}},
    {"histogram", {"s_barrier", "ds_add", "global_atomic_add", "global_atomic_or"}, {}, {}, {"ds_bpermute"}},
};

void check_instructions(const EmittedGpuKernel& kernel, const GfxTarget& gfx, std::string_view name) {
  for (const Instructions& row : kInstructions) {
    if (row.kernel != name) continue;
    for (const auto& wanted : {row.everywhere, is_rdna(gfx) ? row.on_rdna : row.on_cdna}) {
      for (const std::string_view part : wanted) {
        CAPTURE(part);
        CHECK(kernel.has(part));
      }
    }
    for (const std::string_view part : row.nowhere) {
      CAPTURE(part);
      CHECK(!kernel.has(part));
    }
    return;
  }
  FAIL("no row for kernel ", name);
}

TEST_CASE(
    "every workgroup kernel is an object that matches its plan, on every GPU target and dtype, with its instructions") {
  for (const GpuTestKernel& test_kernel : test::gpu_test_kernels()) {
    for (const GfxTarget& gfx : gfx_targets()) {
      for (const DType dtype : test_kernel.dtypes) {
        const std::string where =
            std::string(test_kernel.name) + " " + std::string(gfx.name) + " " + std::string(to_text(dtype));
        CAPTURE(where);
        const EmittedGpuKernel kernel(test_kernel.build(dtype, gfx.subgroup_size), gfx);
        check_promises(kernel, gfx);
        check_instructions(kernel, gfx, test_kernel.name);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
