// SPDX-License-Identifier: Apache-2.0
#include "tests/jit/llvm/gpu_support.h"

#include <doctest/doctest.h>

#include "jit/llvm_client/open_module.h"
#include "millrace/jit/occupancy.h"

namespace millrace {

TargetSpec spec_of(const GfxTarget& gfx) { return {.family = "amdgpu", .gfx = std::string(gfx.name)}; }

EmittedGpuKernel::EmittedGpuKernel(const MachineKernel& kernel, const GfxTarget& gfx) {
  const TargetSpec spec = spec_of(gfx);
  const auto take = [](auto result) {
    REQUIRE_MESSAGE(result.ok(), result.status().message());
    return *std::move(result);
  };
  const auto generator = make_llvm_generator();
  planned_ = take(generator->plan(kernel, spec));
  image_ = take(generator->emit(planned_, spec));
  const std::vector<std::byte> object = take(link_images({{image_}}));
  info_ = take(read_code_object(object));
  REQUIRE(info_.kernels.size() == 1);
  REQUIRE(code().code_offset + code().code_bytes <= object.size());
  text_ = take(disassemble_with_llvm(std::span(object).subspan(code().code_offset, code().code_bytes), spec));
}

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
  CHECK(code.private_bytes == 0);
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

}  // namespace millrace
