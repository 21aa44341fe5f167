// SPDX-License-Identifier: Apache-2.0
// Workgroup kernels as AMD GPU code objects: what every object promises, on every target and dtype, and the
// instructions that it must have.
#include "tests/support/gpu_kernels.h"

#include <doctest/doctest.h>

#include "tests/jit/llvm/gpu_support.h"

namespace millrace {
namespace {

using test::GpuTestKernel;

/// Read from the object itself, not by check_code_object, which emission relies on.
void check_promises(const EmittedGpuKernel& kernel, const GfxTarget& gfx) {
  const CodeObjectKernel& code = kernel.code();
  const MemoryPlan& plan = kernel.planned().memory;
  CHECK(kernel.info().target == "amdgcn-amd-amdhsa--" + std::string(gfx.name));
  CHECK(kernel.info().undefined_symbols.empty());
  CHECK(kernel.info().relocations.empty());
  CHECK(kernel.info().other_functions.empty());
  CHECK(code.symbol == kernel_symbol(kernel.planned()));
  CHECK(code.workgroup_bytes == plan.workgroup_bytes);
  CHECK(code.workgroup_bytes <= gfx.workgroup_memory_bytes);
  CHECK(code.private_bytes == 0);  // none of these kernels plans any
  CHECK(plan.private_bytes == 0);
  CHECK(code.num_scalar_spills == 0);
  CHECK(code.num_vector_spills == 0);
  CHECK(!code.has_dynamic_stack);
  CHECK(code.hidden_arguments.empty());
  CHECK(code.argument_bytes == 8 * (1 + kernel.image().info.num_buffers + kernel.image().info.num_sizes));
  CHECK(code.subgroup_size == gfx.subgroup_size);
  CHECK(code.workgroup_size == kernel.image().info.workgroup_size);
  CHECK(code.num_vector_registers > 0);
  CHECK(occupancy_of(code, gfx).workgroups_per_unit > 0);
  for (const char* unwanted : {"s_swappc", "s_call", "scratch_", "buffer_store", ".byte"}) {
    CAPTURE(unwanted);
    CHECK(!kernel.has(unwanted));
  }
  CHECK(kernel.has("s_endpgm"));
}

/// By name of kernel: what its code holds, and what it does not.
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
    "every workgroup kernel is, on every GPU target and dtype, an object as planned, with the instructions for it") {
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
