// SPDX-License-Identifier: Apache-2.0
#include "tests/jit/llvm/gpu_support.h"

#include <doctest/doctest.h>

#include "jit/open_llvm_module.h"

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

}  // namespace millrace
